"""Syntax errors of a filter's text, with their position and a picture of it."""

from __future__ import annotations

import unicodedata

from penstock.kernel.errors import UsageError

_PICTURE_CHARS = 70


class FilterSyntaxError(UsageError):
    """A filter's text is invalid; `line` and `column` count characters from 1."""

    def __init__(self, reason: str, text: str, at: int) -> None:
        # All three arguments, so that the error survives pickling.
        super().__init__(reason, text, at)
        self.reason = reason
        self.text = text
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)

    def __str__(self) -> str:
        place = f"column {self.column}"
        if "\n" in self.text:
            place = f"line {self.line}, {place}"
        return f"{place}: {self.reason}"

    def picture(self) -> str:
        """Two lines: the text, and a caret below the position."""
        line = self.text.split("\n")[self.line - 1]
        place = self.column - 1
        start = max(0, min(place - _PICTURE_CHARS // 2, len(line) - _PICTURE_CHARS))
        shown = "".join(map(_printable, line[start : start + _PICTURE_CHARS]))
        before = sum(map(_width, shown[: place - start]))
        left = "…" if start else ""
        right = "…" if start + _PICTURE_CHARS < len(line) else ""
        return f"{left}{shown}{right}\n{' ' * (len(left) + before)}^"


def show(fragment: str, chars: int = 24) -> str:
    """A fragment of the text for an error message: printable, and not too long."""
    if len(fragment) > chars:
        fragment = f"{fragment[: chars - 1]}…"
    return "".join(map(_printable, fragment))


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\ufffd"


def _width(character: str) -> int:
    """The number of terminal cells."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
