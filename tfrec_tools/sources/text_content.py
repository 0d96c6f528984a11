"""The bytes of text files: decompressed, and as UTF-8 whatever their encoding."""

from __future__ import annotations

import codecs
import io
import itertools
import lzma
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa

from tfrec_tools.errors import RequestError, SourceError
from tfrec_tools.records import path_text
from tfrec_tools.sources import text_cleaning
from tfrec_tools.storage import Storage, reason_of
from tfrec_tools.tables import Compression, TableFile

READ_BYTES = 4 << 20

RAW = "bytes"
"""As an encoding: bytes that are no text, or nobody asks."""

_KEPT = ("utf-8", RAW)

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


_MAX_BOM_BYTES = 4
_SHIFTS = b"\x1b$B!!\x1b(B\x1b$)C\x0e!!\x0f~{!!~}+AOk-\\u0041\\n"
"""What makes encodings read the bytes that follow in another way, if they know such shifts."""


def encoding_of_bom(head: bytes) -> tuple[str, int] | None:
    """Return the encoding that a byte order mark names, and the mark's length."""
    return next(((name, len(bom)) for bom, name in _BOMS if head.startswith(bom)), None)


def known_encoding(name: str) -> str:
    """Return the encoding's usual name. Raises RequestError if Python knows none such."""
    try:
        found = codecs.lookup(name).name
        "a".encode(found)  # not the empty text, which every codec takes
        text_cleaning.decoded("a".encode(found), found)
    except (LookupError, UnicodeError, ValueError):
        raise RequestError(
            f"--encoding must name an encoding such as utf-8, cp1252 or utf-16 (got {name!r})"
        ) from None
    return "utf-8" if found in ("utf-8-sig", "utf-8", "ascii") else found


def is_single_byte(encoding: str) -> bool:
    """Say whether each byte is one character, the first 128 those of ASCII.

    Such files can be cut anywhere, as those in UTF-8 can.
    """
    every = (bytes(range(256)) + _SHIFTS).decode(encoding, "replace")
    is_single = len(every) == 256 + len(_SHIFTS)
    return is_single and every[:128].encode("ascii", "replace") == bytes(range(128))


def can_be_cut(file: TableFile) -> bool:
    """Say whether ranges of the file's bytes can be read by themselves."""
    return file.compression is None and (file.encoding in _KEPT or is_single_byte(file.encoding))


def as_utf8(data: bytes, file: TableFile, start: int, *, mark: bool = False) -> bytes:
    """Return a range of a file that can be cut as UTF-8; ``start`` is its offset.

    Files in UTF-8 are returned as they are: whether their cells are valid is tested later.
    Raises SourceError naming the first byte that does not fit; with ``mark``, it becomes one
    that is no UTF-8 either.
    """
    if file.encoding in _KEPT:
        return data
    if mark:
        return text_cleaning.decoded(data, file.encoding)
    try:
        return data.decode(file.encoding).encode()
    except UnicodeDecodeError as error:
        raise _wrong_encoding(file, data[error.start], start + error.start) from None


def _wrong_encoding(file: TableFile, byte: int, offset: int) -> SourceError:
    return SourceError(
        f"{path_text(file.key)} must be text in {file.encoding} (byte 0x{byte:02x} at {offset:,} "
        "is none); give --encoding"
    )


def blocks(
    storage: Storage, file: TableFile, num_bytes: int, *, mark: bool = False
) -> Iterator[bytes]:
    """Yield the whole content as UTF-8 in blocks of ``num_bytes``, byte order marks left out.

    Raises SourceError if the file cannot be read, is truncated or in another encoding; see
    `as_utf8` for ``mark``.
    """
    pending = bytearray()
    for piece in _utf8_pieces(storage, file, mark=mark):
        pending += piece
        while len(pending) >= num_bytes:
            yield bytes(pending[:num_bytes])
            del pending[:num_bytes]
    if pending:
        yield bytes(pending)


def read_range(storage: Storage, file: TableFile, start: int, stop: int) -> bytes:
    """Return the file's bytes from ``start`` to before ``stop``. Raises SourceError."""
    try:
        return storage.read_range(file.key, start, stop)
    except OSError as error:
        raise SourceError(f"{path_text(file.key)} could not be read: {reason_of(error)}") from None


def blocks_of_bytes(storage: Storage, file: TableFile) -> Iterator[bytes]:
    """Yield the decompressed content as it is, piece by piece. Raises SourceError."""
    return _plain_pieces(storage, file)


def _utf8_pieces(storage: Storage, file: TableFile, *, mark: bool) -> Iterator[bytes]:
    pieces = _plain_pieces(storage, file)
    first = b""
    while len(first) < _MAX_BOM_BYTES and (piece := next(pieces, b"")):
        first += piece
    bom = encoding_of_bom(first)
    offset = bom[1] if bom is not None and bom[0] == file.encoding else 0
    pieces = itertools.chain([first[offset:]], pieces)
    if file.encoding in _KEPT:
        yield from pieces
        return
    if mark:
        marking = text_cleaning.incremental_decoder(file.encoding)
        for piece in itertools.chain(pieces, [b""]):
            yield marking.decode(piece, final=not piece)
        return
    decoder = codecs.getincrementaldecoder(file.encoding)()
    for piece in itertools.chain(pieces, [b""]):
        try:
            yield decoder.decode(piece, final=not piece).encode()
        except UnicodeDecodeError as error:
            # The decoder puts bytes of a character that was cut in front of the piece.
            start = offset + len(piece) - len(error.object) + error.start
            raise _wrong_encoding(file, error.object[error.start], start) from None
        except UnicodeError:
            raise SourceError(
                f"{path_text(file.key)} must begin with a byte order mark (it has none); give "
                f"--encoding {file.encoding}-le or {file.encoding}-be"
            ) from None
        offset += len(piece)


def _plain_pieces(storage: Storage, file: TableFile) -> Iterator[bytes]:
    """Yield the decompressed content; members that follow one another are read to the end."""
    name = path_text(file.key)
    try:
        with storage.open(file.key) as raw:
            yield from _stream_pieces(raw, file.compression)
    except (OSError, EOFError, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise SourceError(f"{name} could not be read: {reason_of(error)}") from None
        raise SourceError(f"{name} {_not_whole(file.compression)}") from None


def decompressed(data: bytes, compression: Compression | None) -> bytes:
    """Return the content of a file from all of its bytes.

    Raises SourceError, which does not name the file, if it is truncated or damaged.
    """
    if compression is None:
        return data
    try:
        return b"".join(_stream_pieces(io.BytesIO(data), compression))
    except (OSError, EOFError, lzma.LZMAError):
        raise SourceError(_not_whole(compression)) from None


def _not_whole(compression: Compression | None) -> str:
    return f"must be a whole {compression} file (it is truncated or damaged); get it anew"


def _stream_pieces(raw: BinaryIO, compression: Compression | None) -> Iterator[bytes]:
    if compression == "xz":
        yield from _xz_pieces(raw)
        return
    stream = raw if compression is None else _decompressed(raw, compression)
    while piece := stream.read(READ_BYTES):
        yield piece


def _decompressed(raw: BinaryIO, compression: Compression) -> BinaryIO:
    return pa.CompressedInputStream(pa.PythonFile(raw, "r"), compression)  # type: ignore[no-any-return]


def _xz_pieces(raw: BinaryIO) -> Iterator[bytes]:
    """Yield the content of all streams of an xz file.

    ``lzma.open`` takes what follows a stream for rubbish if it is damaged, and ends there.
    """
    decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ)
    is_fresh = False  # whether the decoder has seen nothing yet
    given = raw.read(READ_BYTES)
    while given or not decoder.needs_input:
        piece = decoder.decompress(given, READ_BYTES)
        if piece:
            yield piece
        is_fresh = False
        given = b""
        if decoder.eof:
            # Streams may be padded with zeros; the next one begins with none.
            rest = decoder.unused_data.lstrip(b"\0")
            while not rest and (more := raw.read(READ_BYTES)):
                rest = more.lstrip(b"\0")
            given, decoder, is_fresh = rest, lzma.LZMADecompressor(lzma.FORMAT_XZ), True
            if not given:
                break
        elif decoder.needs_input:
            given = raw.read(READ_BYTES)
    if not is_fresh:
        raise EOFError
