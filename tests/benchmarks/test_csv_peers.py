"""The other ways to convert and read a CSV file: they do the same work."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from benchmarks.csv_inputs import drawn_csv
from benchmarks.measuring import REPOSITORY
from benchmarks.peers.csv_columns import CLASS_NAMES, DECIMALS, HEADER, INTEGERS, LABEL, TEXTS
from benchmarks.peers.csv_epoch import CsvReadArguments, report_rate

tf = pytest.importorskip("tensorflow")

from benchmarks.peers import read_csv_file, read_csv_records  # noqa: E402 (they need TensorFlow)

NUM_RECORDS = 600
NUMBERS = tuple(name for name in HEADER if name not in TEXTS)


def run(module, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.peers.{module}", *map(str, arguments)],
        cwd=REPOSITORY,
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout.splitlines()[-1] if done.stdout else ""


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return drawn_csv(NUM_RECORDS, tmp_path_factory.mktemp("drawn"))


@pytest.fixture(scope="module")
def records(data):
    """What has to be stored of the file, by id."""
    with data.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {int(row["id"]): typed(row) for row in rows}


def typed(row):
    return (
        {name: int(row[name]) for name in INTEGERS}
        | {name: np.float32(row[name]) for name in DECIMALS}
        | {name: row[name].encode() for name in TEXTS}
        | {LABEL: CLASS_NAMES.index(row[LABEL])}
    )


def stored(paths):
    """Return what TFRecord files hold, by id."""
    types = dict.fromkeys(DECIMALS, tf.float32) | dict.fromkeys(TEXTS, tf.string)
    spec = {name: tf.io.FixedLenFeature((), types.get(name, tf.int64)) for name in HEADER}
    dataset = tf.data.TFRecordDataset([str(path) for path in paths])
    dataset = dataset.map(lambda payload: tf.io.parse_single_example(payload, spec))
    found = list(dataset.as_numpy_iterator())
    assert len(found) == NUM_RECORDS
    return {int(record["id"]): record for record in found}


@pytest.fixture(scope="module")
def looped(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("looped")
    run("pandas_csv_loop", data, folder)
    return folder


def test_the_loop_writes_the_records(looped, records):
    assert stored([looped / "train.tfrecord"]) == records


def test_tfds_writes_the_records(data, tmp_path, records):
    pytest.importorskip("tensorflow_datasets")
    run("tfds_csv_builder", data, tmp_path)
    assert stored(tmp_path.rglob("*.tfrecord*")) == records


def test_pyarrow_reads_the_records(data):
    assert run("pyarrow_csv", data) == str(NUM_RECORDS)


def read(batches):
    """Return the records of batches of (others, labels), by id."""
    found = [others | {LABEL: labels} for others, labels in batches.as_numpy_iterator()]
    columns = {name: np.concatenate([batch[name] for batch in found]) for name in found[0]}
    ids = columns["id"].tolist()
    return {
        key: {name: column[index] for name, column in columns.items()}
        for index, key in enumerate(ids)
    }


def arguments(path, *, has_texts, how=""):
    return CsvReadArguments(path=str(path), batch_size=256, has_texts=has_texts, how=how)


def only(names, records):
    return {key: {name: record[name] for name in names} for key, record in records.items()}


@pytest.mark.parametrize("has_texts", [False, True])
@pytest.mark.parametrize("how", ["each", "batch"])
def test_pipelines_by_hand_give_the_records(looped, records, how, has_texts):
    chosen = arguments(looped, has_texts=has_texts, how=how)
    found = read(read_csv_records.pipeline(chosen))
    assert found == only(HEADER if has_texts else NUMBERS, records)


def test_payloads_are_read_without_parsing(looped):
    payloads = read_csv_records.pipeline(arguments(looped, has_texts=False, how="raw"))
    first, *_, last = payloads.as_numpy_iterator()
    assert (len(first), len(last)) == (256, NUM_RECORDS % 256)
    assert tf.train.Example.FromString(first[0]).features.feature[LABEL].int64_list.value


@pytest.mark.parametrize("has_texts", [False, True])
def test_make_csv_dataset_gives_the_records_with_labels_as_text(data, records, has_texts):
    found = read(read_csv_file.pipeline(arguments(data, has_texts=has_texts)))
    names = [name.encode() for name in CLASS_NAMES]
    labelled = {key: record | {LABEL: names[record[LABEL]]} for key, record in records.items()}
    assert found == only(HEADER if has_texts else NUMBERS, labelled)


def batches(columns, *sizes):
    return [({name: np.zeros(size) for name in columns}, np.zeros(size)) for size in sizes]


def test_the_first_batch_is_not_counted(capsys):
    report_rate(batches(NUMBERS[:-1], 4, 4, 3), NUMBERS)
    report_rate([np.zeros(5), np.zeros(2)], ())
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [result["num_records"] for result in results] == [7, 2]
    assert all(result["time_s"] > 0 and result["first_batch_s"] > 0 for result in results)


def test_batches_of_other_columns_are_refused():
    with pytest.raises(ValueError, match=r"must have the columns .* \(got \['id', 'label'\]\)"):
        report_rate(batches(["id"], 4), NUMBERS)
