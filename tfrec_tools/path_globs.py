"""Glob patterns of paths relative to the source root, such as ``test/*`` or ``**/fold1_*``.

``*`` and ``?`` stand for anything within one name, ``**`` for any number of folders, ``[…]``
for one of some characters. A pattern without ``/`` is matched against the file's name.
"""

from __future__ import annotations

import functools
import re


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[bytes]:
    """Return the pattern as a regular expression for whole paths (bytes)."""
    parts = pattern.strip("/").split("/")
    if len(parts) == 1:
        parts = ["**", *parts]
    expression = b""
    for position, part in enumerate(parts):
        last = position == len(parts) - 1
        if part == "**":
            expression += b".*" if last else b"(?:[^/]+/)*"
        else:
            expression += _name_expression(part) + (b"" if last else b"/")
    return re.compile(expression, re.DOTALL)


def matches(pattern: str, path: bytes) -> bool:
    """Say whether the whole ``path`` fits ``pattern``."""
    return compiled(pattern).fullmatch(path) is not None


def takes_folder(pattern: str, folder: bytes) -> bool:
    """Say whether ``pattern`` fits the folder itself, or everything in it."""
    return bool(folder) and (
        matches(pattern, folder)
        or (pattern.endswith("/**") and matches(pattern.removesuffix("/**"), folder))
        or (pattern.endswith("/*") and matches(pattern.removesuffix("/*"), folder))
    )


def folder_pattern(pattern: str) -> str | None:
    """Return ``X`` of a pattern ``X/*`` or ``X/**`` that takes a first-level folder, else None."""
    first, slash, rest = pattern.partition("/")
    return first if slash and rest in ("*", "**", "**/*") and first != "**" else None


def _name_expression(part: str) -> bytes:
    """Return the regular expression of one name; wildcards never cross a slash."""
    expression = b""
    position = 0
    while position < len(part):
        character = part[position]
        position += 1
        if character == "*":
            expression += b"[^/]*"
        elif character == "?":
            expression += b"[^/]"
        elif character == "[" and (end := part.find("]", position + 1)) > 0:
            inside = part[position:end].replace("\\", "\\\\").replace("[", "\\[")
            position = end + 1
            negated = inside.startswith(("!", "^"))
            expression += b"[" + (b"^/" if negated else b"")
            expression += inside[negated:].encode() + b"]"
        else:
            expression += re.escape(character.encode())
    return expression
