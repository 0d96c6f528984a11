"""``tf.train.Example`` bytes from Arrow columns and back, without TensorFlow or protobuf.

Payloads equal what protobuf's *deterministic* serialization gives (map entries sorted by
key, packed numbers); protobuf's default order differs from process to process. Nothing is
registered with protobuf: importing TensorFlow afterwards must stay possible.
"""

from tfrec_tools.example_codec.decoding import decode, decode_one
from tfrec_tools.example_codec.encoding import EncodedExamples, ExternalBytes, encode

__all__ = ["EncodedExamples", "ExternalBytes", "decode", "decode_one", "encode"]
