"""Metrics of guaranteed streams: rates, recoveries, alerts, and what crosses links again."""
