"""Three metrics as DataFrame steps over trace tables, for people who write their own.

    tables             trace tables of several runs, with row numbers
    order              window functions
    false_negatives    a join that keeps what has no match
    delays             histograms and percentiles

They find the same as `metrics/`, which tests and `penstock bench pipeline` hold them to, but
take minutes where a task per run takes seconds: every window function sorts all rows.
"""
