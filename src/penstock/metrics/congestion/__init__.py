"""Metrics of congestion control: what publishers hold back, and how rates settle and compare."""
