"""Glob patterns of paths relative to the source root, such as ``test/*`` or ``**/fold1_*``.

``*`` and ``?`` stand for anything within one name, ``**`` for any number of folders, ``[…]``
for one of some characters. A pattern without ``/`` is matched against the file's name.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from tfrec_tools.errors import RequestError, clipped


@dataclass(frozen=True, slots=True)
class PathGlob:
    """A compiled pattern."""

    expression: re.Pattern[str]

    def fullmatch(self, path: bytes) -> bool:
        """Say whether the whole ``path`` fits."""
        # As text, so that `?` stands for a character and not for one byte of it; names need
        # not be UTF-8, and what is none must not match by chance.
        return self.expression.fullmatch(path.decode("utf-8", "surrogateescape")) is not None


@functools.lru_cache(maxsize=256)
def compiled(pattern: str) -> PathGlob:
    """Return the pattern compiled. Raises RequestError if a range in it goes downwards."""
    parts = pattern.strip("/").split("/")
    if len(parts) == 1:
        parts = ["**", *parts]
    expression = ""
    for position, part in enumerate(parts):
        last = position == len(parts) - 1
        if part == "**":
            expression += ".*" if last else "(?:[^/]+/)*"
        else:
            expression += _name_expression(part, pattern) + ("" if last else "/")
    return PathGlob(re.compile(expression, re.DOTALL))


def matches(pattern: str, path: bytes) -> bool:
    """Say whether the whole ``path`` fits ``pattern``."""
    return compiled(pattern).fullmatch(path)


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


def _name_expression(part: str, pattern: str) -> str:
    """Return the regular expression of one name; wildcards never cross a slash."""
    expression = ""
    position = 0
    while position < len(part):
        character = part[position]
        position += 1
        if character == "*":
            expression += "[^/]*"
        elif character == "?":
            expression += "[^/]"
        elif character == "[" and (end := _end_of_set(part, position)) > 0:
            expression += _set_expression(part[position:end], pattern)
            position = end + 1
        else:
            expression += re.escape(character)
    return expression


def _end_of_set(part: str, start: int) -> int:
    """Return where the ``]`` is that ends a set, -1 for none; the first in a set is a member."""
    first = start + 1 if part[start : start + 1] in ("!", "^") else start
    return part.find("]", first + 1)


def _set_expression(members: str, pattern: str) -> str:
    """Return the regular expression of ``[members]``: characters and ranges, ``!`` in front: none of."""
    negated = members[0] in "!^"
    expression = "[^/" if negated else "(?!/)["
    position = int(negated)
    while position < len(members):
        first = last = members[position]
        position += 1
        if members[position : position + 1] == "-" and position + 1 < len(members):
            last = members[position + 1]
            position += 2
        if last < first:
            raise RequestError(
                f"a range in a pattern must go upwards (got {first}-{last} in {clipped(pattern)})"
            )
        expression += f"{re.escape(first)}-{re.escape(last)}"
    return expression + "]"
