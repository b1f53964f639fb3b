"""Guaranteed streams on sockets and disks."""
