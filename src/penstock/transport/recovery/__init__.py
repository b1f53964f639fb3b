"""Recovery of lost messages by requests and repairs, in parts that know no network.

    recovery         `Recovery`: all parts together, for one endpoint
    requester        requests lost messages, repeatedly if necessary
    request_state    what past requests showed about one publisher
    request_bloom    the Bloom set that routes a request to endpoints that may have the message
    request_timers   random waits before requests and repairs, so that few are sent twice
    repairer         sends repairs from the caches to endpoints that lost a message
    cache            messages stored for repairs, by publisher
    cache_size       how many messages of a publisher to store
    peer_distance    one-way distances to peers
    admission        asks congestion control before a request or a repair is sent
    facts            what recovery needs of its endpoint, and what it reports for the trace
    settings         what a caller may configure

Losses are detected elsewhere: by `order` from records, and by `detect` from digests and flow
numbers.
"""
