"""Test doubles for programs that use the transport, and for the tests of this project.

    loopback_network   a network for one endpoint: the caller carries the frames
    shared_bus         a network of several endpoints with one clock, delay and loss

Knows no socket and no simulator: time passes when the caller says so.
"""
