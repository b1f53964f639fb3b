"""Traces as Parquet files: written in large batches, found by run, kept on request.

Knows the content of a trace only through `trace.schema`, and nothing of its origin.
"""
