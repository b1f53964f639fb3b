"""Routing state of a broker: links, shortest paths, and the interests of other brokers."""
