"""Guaranteed streams: every message on disk, delivered once and in order to who asked for it.

A *pubend* is a durable, ordered stream of messages at the broker that its publishers connect to.
Relays filter, cache and repair on the way; hosts serve subscriptions. Pure: frames, time and what
a disk answers come in as arguments, frames and requests to a disk go out.
"""
