"""The encoding of the frames of casts: one file per file of `frames.cast`.

Each codec is a class with a picture of its bytes, without what stands around them: `framing` says
what that is. `cast_frames` is the table, `cast_codec` encodes and decodes whole frames, `mac` makes
what they end with. A symbol on a socket goes through `symbols` alone.
"""
