"""A network inside one process, exact to the nanosecond and the same on every run of a seed.

`events` is the clockwork, `link` and `host` are what runs on it, `world` puts
them together after a `topology`, and `faults` breaks them. Knows the shape of a
machine and nothing of any protocol: frames are opaque, their size is asked for.
"""
