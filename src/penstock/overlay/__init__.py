"""The best-effort broker network of §3.2: brokers, clients, and what a transport sees of both.

Knows what frames mean, not how they are written or carried; what it carries is
opaque but for the message or the bits it is routed by.
"""
