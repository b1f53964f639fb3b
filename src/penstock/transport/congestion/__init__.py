"""Congestion control: receivers measure, publishers slow down what flows through the bottleneck.

    what a receiver measures     rtt, meter, losses (and intervals), response
    what it asks for             quotas, session, suppression, reporter
    what a publisher does        table, flow, bucket (or window), outbox, sender
    whom it believes             gate
    what recovery may send       allowance
    both, for an endpoint        congestion

All are pure: time and chance are arguments.
"""
