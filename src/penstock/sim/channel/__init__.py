"""A model network without brokers, with delays and losses of a known distribution.

    path_model      delays, losses and copies on one path, as a value, and its draws
    link            a link on which messages overtake one another
    channel_port    the network as an endpoint sees it
    ideal_network   sends each message to every matching subscriber
    network         all of these, on the hosts of a world
    match_draws     messages that match with given probabilities

For tests of the transport: delays and losses follow the given distributions, and nothing else
goes wrong.
"""
