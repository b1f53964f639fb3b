"""What is said: frames as values, in wire units and at wire precision.

A frame checks itself when it is built, DATA when it is measured or written, and
raises `UsageError` for what would not come back equal: nothing is ever cut down
to fit. Frames know nothing of bytes; `codec` has the same files and knows how
each is written.
"""
