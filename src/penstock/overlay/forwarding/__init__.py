"""Message forwarding in a broker: destinations, next hops and duplicate suppression."""
