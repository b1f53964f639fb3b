"""How it is written: one file per file of `frames`, with a picture of its bytes.

Numbers are big-endian. Every frame has exactly one spelling: whatever decodes
encodes to the same bytes again, and everything else is a `PeerError`.
"""
