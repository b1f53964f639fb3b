"""Metrics of what was published and what came to receivers: amounts, order, delays, fairness."""
