"""Penstock: dependable streams over best-effort content-based publish/subscribe."""

__version__ = "0.1.0"
