"""What is said: frames as values, in wire units and at wire precision.

A frame checks itself when it is built and raises `UsageError` for what could
not be written, so every frame that exists can be encoded, and comes back equal.
Frames know nothing of bytes; `codec` has the same files and knows how each is
written.
"""
