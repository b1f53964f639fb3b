"""Shared types of the public surface: what users hold in their hands, whatever service they use.

Knows asyncio, which is loaded on first use, and no sockets: `penstock.streams` and its sisters
export these names, `live` gives them life.
"""
