"""Names of nodes by the ids that frames carry.

A node has one id: it publishes under its id as an endpoint. Names are not on the wire, so a
node on a socket knows few but its own.
"""

from __future__ import annotations


# A dictionary, because almost every row needs a lookup, and a method call would take far longer.
class Names(dict[int, str]):
    """Registered names by id; an id without one is written as a number."""

    def __missing__(self, node_id: int) -> str:
        return str(node_id)
