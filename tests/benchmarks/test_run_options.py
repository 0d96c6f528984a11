"""Which contenders run, in which order, and how often."""

import click
import pytest

from benchmarks.measuring import Contender
from benchmarks.run_options import RunOptions


def contender(name, seen):
    def command(_output):
        seen.append(name)
        return ["true"]

    return Contender(name, "a test", command)


@pytest.mark.parametrize(
    ("only", "order", "num_runs"),
    [
        ((), "ababab" + "bbb", {"a": 2, "b": 4}),
        (("b",), "bbbbb", {"b": 4}),
        (("a",), "aaa", {"a": 2}),
    ],
)
def test_slow_contenders_take_part_in_the_first_rounds(tmp_path, only, order, num_runs):
    seen = []
    options = RunOptions(num_runs=4, work=tmp_path, only=only)
    contenders = [contender("a", seen), contender("b", seen)]
    results = options.run(contenders, slow=("a",), slow_num_runs=2)
    assert "".join(seen) == order
    assert {name: len(runs) for name, runs in results.items()} == num_runs


def test_slow_contenders_run_no_more_often_than_all(tmp_path):
    seen = []
    options = RunOptions(num_runs=1, work=tmp_path, only=())
    contenders = [contender("a", seen), contender("b", seen)]
    options.run(contenders, slow=("a",), slow_num_runs=2)
    assert "".join(seen) == "abab"


def test_without_slow_contenders_all_take_turns(tmp_path):
    seen = []
    options = RunOptions(num_runs=2, work=tmp_path, only=())
    options.run([contender("a", seen), contender("b", seen)])
    assert "".join(seen) == "ababab"


def test_names_of_nobody_are_refused(tmp_path):
    options = RunOptions(num_runs=1, work=tmp_path, only=("c",))
    with pytest.raises(click.ClickException) as caught:
        options.run([contender("a", []), contender("b", [])], slow=("a",), slow_num_runs=1)
    assert caught.value.message == "--only must be one of a, b (got ('c',))"
