"""Samples of state for the trace: flows, caches and links, at intervals that a driver chooses."""
