"""Framing: equal to TensorFlow's writer byte by byte, and no damage goes unnoticed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfrec_tools.errors import DatasetError
from tfrec_tools.record_framing import (
    FRAME_BYTES,
    crc32c,
    crc32c_of,
    footer,
    frame,
    header,
    iter_payloads,
    masked,
)

# Recipe: with tf.io.TFRecordWriter(path) as w: w.write(b"foo")
FOO_FRAMED = bytes.fromhex("0300000000000000b099490e666f6f618abefe")
# Recipe: with tf.io.TFRecordWriter(path) as w: w.write(b"")
EMPTY_FRAMED = bytes.fromhex("00000000000000002903980" + "7d8ea82a2")

LISTS_OF_PAYLOADS = st.lists(
    st.lists(st.binary(max_size=300), max_size=8), min_size=25, max_size=25
)


class TestFrame:
    def test_equals_tensorflows_golden_bytes(self) -> None:
        assert frame(b"foo") == FOO_FRAMED
        assert frame(b"") == EMPTY_FRAMED

    def test_consists_of_header_payload_and_footer(self) -> None:
        assert header(3) + b"foo" + footer(crc32c(b"foo")) == FOO_FRAMED
        assert len(frame(b"foo")) == 3 + FRAME_BYTES

    @settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(LISTS_OF_PAYLOADS)
    def test_equals_tensorflows_writer_and_tf_data_reads_it(self, lists: list[list[bytes]]) -> None:
        # Many payloads per file: a file of TensorFlow's costs a thousand times a frame.
        payloads = [payload for some in lists for payload in some]
        with tempfile.TemporaryDirectory() as folder:
            theirs = str(Path(folder, "theirs"))
            with tf.io.TFRecordWriter(theirs) as writer:
                for payload in payloads:
                    writer.write(payload)
            framed = b"".join(map(frame, payloads))
            assert framed == Path(theirs).read_bytes()
            ours = Path(folder, "ours")
            ours.write_bytes(framed)
            assert list(tf.data.TFRecordDataset(str(ours)).as_numpy_iterator()) == payloads
        assert list(iter_payloads(framed)) == payloads


class TestCrc32c:
    def test_equals_the_check_value_of_the_standard(self) -> None:
        # Recipe: CRC-32C/iSCSI of the ASCII digits, in the catalogue of CRC algorithms.
        assert crc32c(b"123456789") == 0xE3069283

    def test_masks_as_record_writer_h_says(self) -> None:
        crc = 0xE3069283
        rotated = (crc >> 15 | crc << 17) & 0xFFFFFFFF
        assert masked(crc) == (rotated + 0xA282EAD8) % 2**32

    @given(st.lists(st.binary(max_size=50)), st.integers(0, 2**32 - 1))
    def test_of_pieces_equals_that_of_the_joined_bytes(
        self, pieces: list[bytes], start: int
    ) -> None:
        assert crc32c_of(pieces, start) == crc32c(b"".join(pieces), start)

    def test_continues_from_an_earlier_crc(self) -> None:
        assert crc32c(b"6789", crc32c(b"12345")) == 0xE3069283


GOOD = frame(b"first") + frame(b"second")
SECOND_AT = len(frame(b"first"))


def _changed(offset: int) -> bytes:
    return GOOD[:offset] + bytes([GOOD[offset] ^ 1]) + GOOD[offset + 1 :]


class TestIterPayloads:
    @pytest.mark.parametrize(
        ("damaged", "message"),
        [
            (_changed(0), "x: record 0 at byte 0: the checksum of the length is wrong"),
            (_changed(9), "x: record 0 at byte 0: the checksum of the length is wrong"),
            (_changed(14), "x: record 0 at byte 0: the checksum of the payload is wrong"),
            (_changed(18), "x: record 0 at byte 0: the checksum of the payload is wrong"),
            (
                _changed(SECOND_AT + 2),
                "x: record 1 at byte 21: the checksum of the length is wrong",
            ),
            (
                _changed(len(GOOD) - 1),
                "x: record 1 at byte 21: the checksum of the payload is wrong",
            ),
            (
                GOOD[: SECOND_AT + 11],
                "x: record 1 at byte 21: the file ends inside the record's header",
            ),
            (
                GOOD[: SECOND_AT + 12],
                "x: record 1 at byte 21: the file ends inside the record's 6 bytes",
            ),
            (GOOD[:-1], "x: record 1 at byte 21: the file ends inside the record's 6 bytes"),
            (b"\0", "x: record 0 at byte 0: the file ends inside the record's header"),
        ],
    )
    def test_names_the_first_damage_and_its_place(self, damaged: bytes, message: str) -> None:
        with pytest.raises(DatasetError) as caught:
            list(iter_payloads(damaged, name="x"))
        assert str(caught.value) == message

    def test_yields_what_lies_before_the_damage(self) -> None:
        payloads = iter_payloads(GOOD[:-1])
        assert next(payloads) == b"first"
        with pytest.raises(DatasetError):
            next(payloads)

    def test_finds_every_change_of_a_single_byte(self) -> None:
        for offset in range(len(GOOD)):
            with pytest.raises(DatasetError):
                list(iter_payloads(_changed(offset)))

    def test_finds_every_truncation_that_is_no_border_of_records(self) -> None:
        for size in range(1, len(GOOD)):
            if size != SECOND_AT:
                with pytest.raises(DatasetError):
                    list(iter_payloads(GOOD[:size]))

    def test_does_not_allocate_what_a_length_promises(self) -> None:
        promises = header(2**62) + b"short"
        with pytest.raises(
            DatasetError, match="ends inside the record's 4611686018427387904 bytes"
        ):
            list(iter_payloads(promises))

    def test_reads_any_buffer(self) -> None:
        assert list(iter_payloads(memoryview(GOOD))) == [b"first", b"second"]
        assert list(iter_payloads(b"")) == []

    @settings(max_examples=200)
    @given(st.binary(max_size=60))
    def test_raises_nothing_but_dataset_error_for_arbitrary_bytes(self, data: bytes) -> None:
        try:
            payloads = list(iter_payloads(data))
        except DatasetError:
            return
        assert b"".join(map(frame, payloads)) == data
