"""Frames of guaranteed streams: between brokers (0x80 to 0x9F) and with clients (0xA0 to 0xBF)."""
