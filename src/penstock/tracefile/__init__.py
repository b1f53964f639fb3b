"""Traces as Parquet: written in large batches, found by run, kept when asked.

Knows what is in a trace only through `trace.schema`, and nothing of who made it.
"""
