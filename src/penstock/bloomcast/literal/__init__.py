"""The protocol as paper 004 prints it, with errata P1 to P4: for comparison, in simulations only.

Subscribers send a NAK for each packet they miss. Relay points hold NAKs for a while, merge them,
and note which segments asked. After each round the publisher waits, opens the next with FIRST,
waits again, and sends what was asked for, uncoded; complete subscribers leave, and the tree
shrinks.
"""
