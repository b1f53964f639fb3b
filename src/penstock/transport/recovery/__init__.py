"""The recovery of lost messages, in parts that know no network.

    timers      how long to wait before asking, or answering, so that few do so twice
    distances   how far away others are
    cache       what is kept so that others can be given it

Each hears what happens and answers one question; none knows of the others.
"""
