"""The erasure code of casts: how an object becomes blocks, and blocks become symbols."""
