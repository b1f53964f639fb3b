"""Metrics of links, queues and drops, and of how fairly the network served receivers.

    link_samples, sums, services   what they share, and the model behind effairness

All other files hold one metric each.
"""
