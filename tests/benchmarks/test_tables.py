"""Tables, to the letter."""
# ruff: noqa: RUF001 (ranges have an en dash)

import pytest

from benchmarks import tables
from benchmarks.measuring import Measurement
from benchmarks.tables import Bound, Target


def run(wall_s, peak_mb):
    return Measurement(
        wall_s=wall_s,
        cpu_s=wall_s * 1.5,
        peak_bytes=peak_mb * 1_000_000,
        written_bytes=240_000_000,
        printed="",
    )


RESULTS = {
    "ours": [run(0.5, 90), run(0.7, 110), run(0.6, 100)],
    "tar": [run(0.4, 11), run(0.4, 11), run(0.4, 11)],
}


def test_time_table():
    assert tables.time_table(RESULTS, ours=("ours", "not measured")) == (
        "|      | s, median |   min–max | ÷ ours | CPU s | peak MB | MB written |\n"
        "| :--- | --------: | --------: | -----: | ----: | ------: | ---------: |\n"
        "| ours |      0.60 | 0.50–0.70 |  1.00x |  0.90 |     110 |        240 |\n"
        "| tar  |      0.40 | 0.40–0.40 |  0.67x |  0.60 |    11.0 |        240 |"
    )


def test_rate_table():
    rates = {"ours": [1500.0, 1700.0, 1600.0], "keras": [800.0]}
    first_batch_s = {"ours": [0.3, 0.2, 0.4], "keras": [1.5]}
    results = {"ours": RESULTS["ours"], "keras": RESULTS["tar"]}
    assert tables.rate_table(rates, first_batch_s, results, unit="images/s", peers=("keras",)) == (
        "|       | images/s, median |     min–max | ÷ keras | first batch s | peak MB |\n"
        "| :---- | ---------------: | ----------: | ------: | ------------: | ------: |\n"
        "| ours  |            1,600 | 1,500–1,700 |   2.00x |          0.30 |     110 |\n"
        "| keras |              800 |     800–800 |   1.00x |          1.50 |    11.0 |"
    )


def test_target_table():
    targets = [
        Target(what="time", bound=Bound.AT_MOST, limit=2, measured=1.994),
        Target(what="rate", bound=Bound.AT_LEAST, limit=0.95, measured=0.949),
        Target(what="memory", bound=Bound.AT_MOST, limit=200, measured=90, unit=" MB"),
    ]
    assert tables.target_table(targets) == (
        "| target |       promised | measured | reached |\n"
        "| :----- | -------------: | -------: | ------: |\n"
        "| time   |     at most 2x |    1.99x |     yes |\n"
        "| rate   | at least 0.95x |    0.95x |      NO |\n"
        "| memory | at most 200 MB |  90.0 MB |     yes |"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.00"), (9.994, "9.99"), (12.34, "12.3"), (123.4, "123"), (12_345.6, "12,346")],
)
def test_number(value, text):
    assert tables.number(value) == text


def test_number_of_runs():
    results = {"ours": [run(1, 1)] * 5, "tfds": [run(9, 1)] * 2}
    assert tables.runs_text(results) == "5 runs each, 2 of tfds"
    assert tables.runs_text({"ours": [run(1, 1)]}) == "1 run each"


@pytest.mark.parametrize(("measured", "reached"), [(1.9, True), (2, True), (2.001, False)])
def test_targets_include_their_limit(measured, reached):
    at_most = Target(what="", bound=Bound.AT_MOST, limit=2, measured=measured)
    at_least = Target(what="", bound=Bound.AT_LEAST, limit=-2, measured=-measured)
    assert at_most.is_reached is at_least.is_reached is reached
