"""The end-to-end transport: ordering and loss detection over any best-effort network."""
