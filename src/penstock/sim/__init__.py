"""A deterministic network simulator: one process, nanosecond time, one result per seed.

`events` is the event queue; `link` and `host` run on it; `world` builds them from a `topology`;
`faults` breaks them. The simulator knows the shape of a machine but no protocol: frames are
opaque, and a callback gives their size.
"""
