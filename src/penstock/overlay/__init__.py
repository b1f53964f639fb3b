"""The best-effort broker network of §3.2: brokers, and their clients.

Knows what frames mean, not how they are encoded or transmitted. Carried frames are opaque except
for the message or the Bloom set that they are routed by.
"""
