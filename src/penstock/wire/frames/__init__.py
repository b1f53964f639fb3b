"""Frames as values, in wire units and at wire precision.

A frame is validated when it is built, DATA when it is measured or encoded. It raises `UsageError`
for values that would not survive the wire unchanged: nothing is silently truncated. Frames know
nothing of bytes; `codec` has the same files and encodes each frame.
"""
