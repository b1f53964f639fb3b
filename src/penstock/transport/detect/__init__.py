"""Detection of losses that no publication record shows, in parts that know no network.

    unrecorded_losses  `UnrecordedLosses`: digests and tracked flows together, for one endpoint
    reply_suppression  replies once to all requesters, then to single ones

Digests, in which a publisher describes its recent messages:

    digest_publisher   builds, repeats and resends digests
    digest_subscriber  subscribes to digests and requests lost ones again
    digest_state       what a subscriber knows of one publisher's digests

Tracked flows, in which a publisher numbers the messages that match one filter:

    flow_numbers       assigns the numbers (publisher side)
    tracking           requests publishers to number our filters (subscriber side)
    flow_gaps          finds gaps in the numbers and requests the missing messages
    flow_state         the gaps in one publisher's tracked flows

A detected loss is a fact; `recovery` repairs it. Only the publisher can identify a message that
is known by its number in a flow, so `flow_gaps` requests such messages itself.
"""
