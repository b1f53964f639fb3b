"""Metrics of guaranteed streams: rates, doubt horizons, and what crosses links again."""
