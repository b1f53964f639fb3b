"""The end-to-end transport: order, and what is missing, over any best-effort network."""
