"""The ``.idx`` beside each shard is the index that DALI and PyTorch's readers expect."""

from __future__ import annotations

import struct

import tfrec_tools


def test_every_line_is_offset_and_length_of_a_frame(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"a": 7, "b": 6})
    manifest = tfrec_tools.convert(source, tmp_path / "out", num_shards=3)
    for shard in manifest.split("train").shards:
        content = (tmp_path / "out" / shard.name).read_bytes()
        lines, offset = [], 0
        while offset < len(content):  # as tfrecord2idx walks over the frames
            (length,) = struct.unpack_from("<Q", content, offset)
            lines.append(f"{offset} {length + 16}\n")
            offset += length + 16
        assert (tmp_path / "out" / f"{shard.name}.idx").read_text() == "".join(lines)
        assert len(lines) == shard.num_records
