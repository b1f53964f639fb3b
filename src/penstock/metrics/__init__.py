"""Metrics of a run: one file each, over batches of its trace, for the lab, Spark and tests.

    base, run_info     what a metric is, and what it may know of its run
    measurement        one run through all chosen metrics
    views/             what several metrics work with: receipts, ledger
    catalogue          every metric by name
    declarations       refuses a metric that declares what cannot be
    results, tally     what metrics report, and what adds up over parts of a run

The folders hold the metrics. Knows no file, no Arrow, no Spark and no machine: a metric sees
what a trace says, whether the run is being simulated or was recorded long ago.
"""
