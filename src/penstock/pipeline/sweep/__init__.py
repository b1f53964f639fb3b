"""One experiment over a grid and many seeds, spread over Spark's executors.

`grid` says what varies, `plan` makes jobs of it, `task` does some of them on an
executor, `spread` has Spark do them all, `result` puts together what came of them.
The only part of the pipeline that runs experiments.
"""
