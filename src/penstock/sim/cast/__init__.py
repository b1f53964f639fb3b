"""Casts in the simulator: nodes, and links that lose single symbols of a train."""
