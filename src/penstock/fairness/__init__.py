"""How fairly a network was shared: ideal allocations, and how near a real one came.

    network      what is to be judged: links, sessions, receivers
    document, columns, table   the same from JSON, from arrays, from CSV
    effairness   the whole judgement: finish times, rates over time, the index
    instant      max-min and proportional fairness when everybody is there at once
    shares, jain one link's shares, and Jain's index

Knows no clock and no simulator: times and amounts come as numbers, in whatever
units the caller likes, as long as capacity × time = data.
"""
