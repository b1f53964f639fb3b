"""Machines on UDP sockets: addresses, datagrams, and the pump that drives a machine."""
