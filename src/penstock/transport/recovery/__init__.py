"""The recovery of lost messages, in parts that know no network.

What was lost, and what others lost:

    recovery    the whole of it, for one endpoint
    requester   asks for what was lost, and again
    repairer    answers who lost what is kept here
    cache       what is kept so that others can be given it
    timers      how long to wait before asking, or answering, so that few do so twice
    distances   how far away others are
    routing     by what requests find those who may have the message
    budget      how much may be sent

How losses are found of which records do not tell:

    exchange    what publishers and subscribers say to one another
    digests     what was sent of late, told by a publisher
    listening   whose digests are wanted; `watch`: what is known of one publisher
    flows       numbers for what matches a filter, given by a publisher
    tracking    which filters publishers are told; `holes`: what their numbers show

Each hears what happens and answers one question.
"""
