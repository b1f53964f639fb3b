"""How fairly a network was shared: ideal allocations, and how close a real one came.

    network         the input: links, sessions, receivers
    json_network, array_network, csv_network   the same from JSON, from arrays, from CSV
    effairness      the complete evaluation: finish times, rates over time, the index
    instantaneous   max-min and proportional fairness with all receivers active at once
    single_link, jain   shares of one link, and Jain's index

Knows no clock and no simulator: times and amounts are numbers in units of the caller's choice,
as long as capacity × time = data.
"""
