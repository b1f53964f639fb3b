"""The encoding of the frames of guaranteed streams: one file per file of `frames.guaranteed`.

Each codec is a class with a picture of its bytes, behind the version and the type that
`CodecTable` writes. `broker_frames` and `client_frames` are the tables; `stream_framing` puts
frames onto a TCP connection and finds them again; `body` is the inside of a message.
"""
