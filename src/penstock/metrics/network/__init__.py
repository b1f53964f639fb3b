"""Metrics of links, queues and drops, and of how fairly the network served receivers."""
