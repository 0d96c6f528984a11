"""Promises beside what was measured."""

from benchmarks.measuring import Measurement
from benchmarks.promises import Promise, median_s, memory_targets, time_targets
from benchmarks.tables import Bound


def run(wall_s, peak_mb=100):
    return Measurement(
        wall_s=wall_s, cpu_s=1, peak_bytes=peak_mb * 10**6, written_bytes=0, printed=""
    )


RESULTS = {"ours": [run(1), run(2, 150), run(9)], "tfds": [run(90)]}


def test_median():
    assert median_s(RESULTS, "ours") == 2


def test_times_that_were_not_measured_are_left_out():
    promises = [
        Promise("tfds", "ours", Bound.AT_LEAST, 45),
        Promise("tfds", "loop", Bound.AT_LEAST, 1),
        Promise("loop", "ours", Bound.AT_LEAST, 1),
        Promise("ours", "tfds", Bound.AT_MOST, 0.01),
    ]
    targets = time_targets(promises, RESULTS)
    assert [(target.what, target.measured, target.is_reached) for target in targets] == [
        ("time of tfds ÷ ours", 45, True),
        ("time of ours ÷ tfds", 2 / 90, False),
    ]


def test_memory_is_the_largest_of_all_runs():
    (target,) = memory_targets(["ours", "loop"], RESULTS, max_peak_mb=149)
    assert (target.what, target.measured, target.unit, target.is_reached) == (
        *("peak memory of ours, largest process", 150, " MB", False),
    )
