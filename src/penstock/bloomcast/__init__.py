"""Casts: one object to many receivers, over routers that keep no state per group."""
