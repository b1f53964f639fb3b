"""The column entries of one attribute of a message.

Numbers are entered as they are. Strings and booleans are entered as codes, assigned only to those
that some check compares with. Presence is a mark.
"""

from __future__ import annotations

from typing import Any

from penstock.content.index.columns import Check, Columns
from penstock.content.index.pieces import Equal, Piece, Present, Within
from penstock.content.value import Key


class Entries:
    """The column entries of one attribute."""

    __slots__ = (
        "_code_uses",
        "_codes",
        "_codes_made",
        "_number",
        "_present",
        "_present_checks",
        "_text",
        "checks",
    )

    def __init__(self, columns: Columns) -> None:
        self.checks = 0
        self._number = columns.take_column()
        self._text = columns.take_column()
        self._present = columns.take_column()
        self._codes: dict[Key, int] = {}
        self._code_uses: dict[Key, int] = {}
        self._codes_made = 0
        self._present_checks = 0

    def columns(self) -> tuple[int, int, int]:
        """The columns in use, to be freed with the last check."""
        return self._number, self._text, self._present

    def check_for(self, piece: Piece) -> Check:
        """The check that decides this piece, good until `release`."""
        self.checks += 1
        if type(piece) is Within:
            return Check(self._number, piece.low, piece.high)
        if type(piece) is Present:
            self._present_checks += 1
            return Check(self._present, 1.0, 1.0)
        assert type(piece) is Equal
        (key,) = piece.keys
        if isinstance(key, (int, float)):
            return Check(self._number, float(key), float(key))
        if key not in self._codes:
            self._codes_made += 1
            self._codes[key] = self._codes_made
        self._code_uses[key] = self._code_uses.get(key, 0) + 1
        return Check(self._text, self._codes[key], self._codes[key])

    def release(self, piece: Piece) -> None:
        """Undoes `check_for`."""
        self.checks -= 1
        if type(piece) is Present:
            self._present_checks -= 1
        elif type(piece) is Equal and not isinstance(piece.keys[0], (int, float)):
            (key,) = piece.keys
            self._code_uses[key] -= 1
            if not self._code_uses[key]:
                del self._codes[key], self._code_uses[key]

    def describe(self, key: Key, columns: list[int], values: list[Any]) -> None:
        """Appends the columns and entries that describe the message's value."""
        if self._present_checks:
            columns.append(self._present)
            values.append(1.0)
        if type(key) is float or type(key) is int:
            columns.append(self._number)
            values.append(key)
        elif (code := self._codes.get(key)) is not None:
            columns.append(self._text)
            values.append(code)
