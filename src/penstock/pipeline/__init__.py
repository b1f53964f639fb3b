"""Analysis of traces on Spark: session, schemas, ingest, metrics, jobs and sweeps.

The only package that imports `pyspark`.
"""
