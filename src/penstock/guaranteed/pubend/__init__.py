"""The publishing end of a stream: gives messages ticks, stores, confirms and repairs them."""
