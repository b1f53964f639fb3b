"""Sweeps: one experiment over a grid and many seeds, on Spark's executors.

`grid` defines the varied keys, `plan` turns them into jobs, `task` runs some jobs on
an executor, `spread` distributes the tasks, and `result` collects the outcomes. The
only part of the pipeline that runs experiments.
"""
