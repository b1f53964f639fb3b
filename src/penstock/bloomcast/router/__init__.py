"""Forwarding by filters, and relay points."""
