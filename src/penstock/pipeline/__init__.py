"""Traces into facts, on Spark: session, schemas, ingest, metrics, jobs, sweeps.

The only room that knows `pyspark`.
"""
