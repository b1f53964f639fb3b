"""Benchmarks of guaranteed streams."""
