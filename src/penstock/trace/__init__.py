"""The trace of a run: record types, their schema, and the hash that identifies a trace.

This is the only contract between a run and its analysis. Knows neither files nor Arrow (see
`tracefile`), nor which components make the records.
"""
