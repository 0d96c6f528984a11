"""The clock of the programs that read."""

import json

import numpy as np
import pytest

from benchmarks.peers.epoch_timing import report_rate


def batches(*sizes, side=224):
    return [(np.zeros((size, side, side, 3), np.uint8), np.zeros(size)) for size in sizes]


def test_the_first_batch_is_not_counted(capsys):
    report_rate(batches(4, 4, 3))
    result = json.loads(capsys.readouterr().out)
    assert result["num_records"] == 7
    assert result["time_s"] > 0
    assert result["first_batch_s"] > 0


def test_images_of_another_size_are_refused():
    with pytest.raises(ValueError, match=r"images must be \(224, 224\)"):
        report_rate(batches(4, side=32))
