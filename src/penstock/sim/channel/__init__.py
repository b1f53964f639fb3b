"""A model of a network, for what is above it: no brokers, and delays of a known law.

    path      what a message meets between two ends, as a value, and its draws
    link      a link on which messages overtake one another
    port      the network as an endpoint sees it
    hub       brings each message to whoever wants it
    network   all of it, on the hosts of a world
    coins     messages that match with given probabilities

A transport's claims are about delays and losses: here these are what they are said
to be, and nothing else happens.
"""
