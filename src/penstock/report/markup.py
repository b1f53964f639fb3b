"""Pieces of HTML that are XML too. Text is escaped on the way in; only `Markup` is taken as is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias


class Markup(str):
    """HTML already."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """Of a table: its text, and how much of it is filled to show a size at a glance."""

    text: str
    share: float | None = None
    class_: str | None = None


Content: TypeAlias = str | Cell


def text(content: str) -> Markup:
    """As it would be read; what is markup already stays."""
    return content if isinstance(content, Markup) else Markup(escape(content))


def tag(name: str, *content: str, **attributes: str | None) -> Markup:
    """An element; `class_` is written class, and an attribute of None is left out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{said}>{''.join(map(text, content))}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """One after another."""
    return Markup("\n".join(map(text, parts)))


def table(
    headings: Sequence[str], rows: Iterable[Sequence[Content]], *, class_: str | None = None
) -> Markup:
    """In a box that scrolls; the first cell of a row is its heading."""
    head = tag("thead", tag("tr", *(tag("th", heading, scope="col") for heading in headings)))
    body = tag("tbody", join(_row(row) for row in rows))
    return tag("div", tag("table", head, body, class_=class_), class_="scroll", tabindex="0")


def _row(row: Sequence[Content]) -> Markup:
    first = row[0].text if isinstance(row[0], Cell) else row[0]
    return tag("tr", tag("th", first, scope="row"), *(_cell(cell) for cell in row[1:]))


def _cell(cell: Content) -> Markup:
    if not isinstance(cell, Cell):
        return tag("td", cell)
    if cell.share is None:
        return tag("td", cell.text, class_=cell.class_)
    filled = f"--share:{100 * min(1.0, max(0.0, cell.share)):.1f}%"
    return tag("td", cell.text, class_="bar", style=filled)
