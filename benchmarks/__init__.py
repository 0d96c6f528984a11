"""Benchmarks: what tfrec-tools costs beside other ways to do the same work.

``python -m benchmarks --help``. Every contender is a whole process; contenders take turns
(A B C A B C …) after one uncounted round, so that a slow minute of the machine hits all of
them. Results that were kept stand in RESULTS.md.
"""
