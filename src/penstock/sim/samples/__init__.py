"""Periodic samples of a network for the trace: links, queues, caches, flows, TCP."""
