"""Checkers of guaranteed streams: they look at programs and disks, never into a broker."""
