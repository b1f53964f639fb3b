"""Order and loss per publisher and subscription: buffers, gaps, and how long to wait."""
