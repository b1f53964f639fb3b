"""The durable log of a pubend in files, and the store for what is saved besides."""
