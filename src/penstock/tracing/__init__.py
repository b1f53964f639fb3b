"""Turns what machines report into rows of a trace, for the simulator, sockets and testbed alike.

    tracer              routes each fact of a machine to one of the parts below
    publications        messages sent, dropped at the source, or still queued at the end
    expectations        ground truth: who should receive a message
    arrivals            messages that arrive at a node, before any ordering
    deliveries          the fate of a message in one ordering
    losses              the history of a missing message
    recovery            requests and repairs
    congestion          feedback of receivers
    signals             all other control frames of endpoints
    hops                decisions of brokers
    drops               packets dropped by the network
    samples/            state of flows, caches and links, taken at intervals
    names               names of nodes by their ids
    publication_times   when a message left its publisher, as far as a driver knows
    row_sink            where rows go

Knows no simulator, no socket and no clock: the time of the trace is an argument, `now`. Times in
facts are of their node's own clock; only their differences are used.
"""
