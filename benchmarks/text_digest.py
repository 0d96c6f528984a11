"""How many texts there are and a digest of them, whatever their order: nothing lost or changed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDigest:
    """``hex_sum``: the sum of the hashes of all texts, modulo 2**128, in hexadecimal digits.

    Texts that occur twice count twice, unlike with an exclusive or.
    """

    num_texts: int
    hex_sum: str

    def to_json(self) -> str:
        """Return one line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, line: str) -> TextDigest:
        """Read what ``to_json`` has written."""
        return cls(**json.loads(line))


def digest_of(texts: Iterable[bytes]) -> TextDigest:
    """Return the digest of texts in any order."""
    num_texts = total = 0
    # One text after the other: hashlib has nothing that takes many, and nothing is timed here.
    for text in texts:
        num_texts += 1
        digest = hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()
        total += int.from_bytes(digest, "big")
    hex_sum = f"{total % (1 << 8 * _DIGEST_BYTES):0{2 * _DIGEST_BYTES}x}"
    return TextDigest(num_texts=num_texts, hex_sum=hex_sum)


def source_texts(source: Path) -> Iterator[bytes]:
    """Yield the lines of a file, or the files in class folders with their class in front."""
    if not source.is_dir():
        with source.open("rb") as file:
            yield from (line.removesuffix(b"\n") for line in file)
        return
    for class_folder in source.iterdir():
        for path in class_folder.iterdir():
            yield labelled(class_folder.name, path.read_bytes())


def labelled(class_name: str, text: bytes) -> bytes:
    """Return a text with its class in front."""
    return class_name.encode() + b"\0" + text
