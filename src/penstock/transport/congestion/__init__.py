"""Congestion control: receivers measure and report, publishers limit the flows they report.

    controller         both halves, for one endpoint
    receiver/          sessions (one per publisher), allowed rates, quotas, feedback and its
                       suppression, acknowledgements
    sender/            feedback limits, the flow table, the send queue
    laws/              the acknowledgement window of a flow
    feedback_protocol  constants that both halves share
    repair_allowance   the rates at which recovery may send requests and repairs
    settings, facts    what a caller may choose, what the trace records

`penstock.tfrc` measures round trips, rates and losses. All modules are pure: time and random
draws are arguments.
"""
