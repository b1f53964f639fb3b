"""Metrics of losses: how they are detected, what is asked for and what is repaired."""
