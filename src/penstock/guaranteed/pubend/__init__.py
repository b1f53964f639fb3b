"""The publishing end of a stream: gives messages ticks, stores, confirms, sends and repairs them."""
