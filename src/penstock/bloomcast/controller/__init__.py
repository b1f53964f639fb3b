"""Rendezvous point and topology manager: who is there, and how an object gets to all who want it.

From links that nodes report to a tree, from the tree to segments that each fit one filter, and from
segments to what their heads are told.
"""
