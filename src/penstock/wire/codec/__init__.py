"""The encoding of frames: one file per file of `frames`, with a picture of its bytes.

Integers are big-endian. Every frame has exactly one encoding: bytes that decode encode to the same
bytes again, and all others are a `PeerError`.
"""
