"""What a run says of itself: record types, their schema, and the hash that identifies a trace.

The only contract between a run and those who analyse it. Knows neither files
nor Arrow (see `tracefile`), nor who makes the records.
"""
