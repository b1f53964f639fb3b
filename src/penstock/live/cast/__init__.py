"""Casts in the real world: files, sockets and processes."""
