"""Metrics of casts: how long they take, what crosses links, and what receivers report.

The tables of casts are written when a run is over, and have no times to divide them by: all values
are of the whole run, with several casts in it as if they were one.
"""
