"""``schema.pbtxt`` is a schema of TensorFlow Metadata."""

from __future__ import annotations

from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2

import tfrec_tools


def test_schema_says_type_presence_domain_and_target(tmp_path, draw_folder) -> None:
    source = draw_folder(tmp_path / "in", {"ä": 1, "b": 1, "c": 1})
    tfrec_tools.convert(source, tmp_path / "out")
    text = (tmp_path / "out" / "schema.pbtxt").read_text()
    schema = text_format.Parse(text, schema_pb2.Schema())
    features = {feature.name: feature for feature in schema.feature}
    assert list(features) == ["filename", "image", "image_height", "image_width", "label"]
    label = features["label"]
    assert label.type == schema_pb2.INT
    assert (label.int_domain.min, label.int_domain.max) == (0, 2)
    assert label.int_domain.is_categorical
    assert list(label.annotation.tag) == ["target"]
    assert features["image"].type == schema_pb2.BYTES
    assert features["image"].HasField("image_domain")
    assert features["filename"].HasField("natural_language_domain")
    for feature in features.values():
        assert feature.HasField("shape")
        assert len(feature.shape.dim) == 0
        assert (feature.presence.min_fraction, feature.presence.min_count) == (1.0, 1)
