"""Checkers of guaranteed streams: what programs, links and disks see, and the sizes of tables."""
