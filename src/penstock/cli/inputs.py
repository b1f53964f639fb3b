"""Reads the input of commands: filters, messages, and lines of files and standard input.

Every mistake is a `UsageError` that names its location.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, NoReturn

from penstock.kernel.errors import UsageError

if TYPE_CHECKING:
    from penstock.content.filter import Predicate
    from penstock.content.message import Message

FILE_BYTES_MAX: Final = 1 << 20
LINE_BYTES_MAX: Final = 1 << 20
# No 64-bit integer has more; Python's conversion takes quadratic time.
_DIGITS_MAX: Final = 20


def read_filter(text: str) -> Predicate:
    """Reads a predicate from its text, its JSON form, or a file given as `@path`."""
    from penstock.content.syntax import from_json, parse

    text = read_argument(text)
    if text.lstrip().startswith("{"):
        return from_json(load_json(text))
    return parse(text)


def read_argument(text: str) -> str:
    """The text itself, the content of a file given as `@path`, or standard input for `-`."""
    if text == "-":
        return _decode(_stdin().read(FILE_BYTES_MAX + 1), "standard input")
    return _read_file(text[1:]) if text.startswith("@") else text


def read_message(text: str) -> Message:
    """Reads a message from a JSON object."""
    from penstock.content.message import Message
    from penstock.content.syntax.json_form import describe, json_value

    document = load_json(text)
    if not isinstance(document, dict):
        raise UsageError(
            f'a message is a JSON object such as {{"price": 120}}, not {describe(document)}'
        )
    attributes = {}
    for name, value in document.items():
        try:
            attributes[name] = json_value(value)
        except UsageError as error:
            raise UsageError(f"attribute {name!r}: {error}") from None
    return Message(attributes)


def load_json(text: str) -> object:
    """Parses strict JSON: no NaN, no infinity, no duplicate names in an object."""
    try:
        return json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=_constant,
        )
    except json.JSONDecodeError as error:
        line = f"line {error.lineno}, " if "\n" in text.strip() else ""
        raise UsageError(f"not JSON: {line}column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise UsageError("this JSON nests too deeply") from None


def stdin_is_piped() -> bool:
    """Whether standard input is open and not a terminal."""
    return sys.stdin is not None and not sys.stdin.isatty()


def stdin_lines() -> Iterator[tuple[int, bytes]]:
    """The non-blank lines of standard input with their line numbers, from 1."""
    return _lines(_stdin())


def file_lines(path: str) -> Iterator[tuple[int, bytes]]:
    """The non-blank lines of a file with their line numbers, from 1."""
    try:
        with Path(path).open("rb") as file:
            yield from _lines(file)
    except OSError as error:
        raise UsageError(f"cannot read {path!r}: {error.strerror or error}") from None


def _stdin() -> BinaryIO:
    if sys.stdin is None:
        raise UsageError("standard input is closed: give the message as an argument")
    return sys.stdin.buffer


def _lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    line_number = 0
    while line := stream.readline(LINE_BYTES_MAX + 1):
        line_number += 1
        part = line
        while len(part) > LINE_BYTES_MAX and not part.endswith(b"\n"):
            part = stream.readline(LINE_BYTES_MAX + 1)
        if line_number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            yield line_number, line


def decode_line(line: bytes) -> str:
    """Decodes a line of input, without its line end."""
    if len(line) > LINE_BYTES_MAX:
        raise UsageError(f"a line has at most {LINE_BYTES_MAX:,} bytes")
    try:
        return line.decode().strip()
    except UnicodeDecodeError as error:
        raise UsageError(f"not UTF-8 at byte {error.start + 1}") from None


def _read_file(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return _decode(file.read(FILE_BYTES_MAX + 1), path)
    except OSError as error:
        raise UsageError(f"cannot read {path!r}: {error.strerror or error}") from None


def _decode(content: bytes, where: str) -> str:
    if len(content) > FILE_BYTES_MAX:
        raise UsageError(f"{where} is larger than {FILE_BYTES_MAX:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{where} is not UTF-8 at byte {error.start + 1}") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                from penstock.content.value import shorten

                raise UsageError(f"the name {shorten(name)} appears twice in one JSON object")
            seen.add(name)
    return members


def _integer(digits: str) -> int:
    if len(digits) > _DIGITS_MAX:
        raise UsageError(f"integers must fit 64 bits: {digits[:_DIGITS_MAX]}…")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise UsageError(f"{digits[:_DIGITS_MAX]} is too large for a number")
    return value


def _constant(name: str) -> NoReturn:
    raise UsageError(f"JSON has no {name}")
