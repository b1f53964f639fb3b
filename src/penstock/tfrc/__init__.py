"""The measurement half of TCP-friendly rate control (RFC 5348, RFC 4654).

    throughput_equation  the rate of a TCP connection under the same loss and round trip
    loss_events          losses grouped into events
    loss_intervals       the weighted history of intervals between loss events
    round_trip           the round trip, with one-way corrections
    rate_meter           the rate at which messages arrive

Pure, and knows no transport: time is an argument.
"""
