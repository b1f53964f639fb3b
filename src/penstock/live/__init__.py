"""The machines on real sockets: a broker, a client, and the pump that drives them.

Imports nothing: `penstock.connect` and the commands import the modules they need.
"""
