"""Guaranteed streams in the simulator: brokers with disks, clients, and links that can be cut."""
