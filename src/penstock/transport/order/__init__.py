"""Ordering and loss detection per publisher and subscription: buffers, gaps, latches."""
