"""Detection of losses that no record shows: digests and numbered flows."""
