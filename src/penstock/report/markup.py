"""Building blocks of HTML that is also XML. Text is escaped; only `Markup` is inserted as is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TypeAlias


class Markup(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell: its text, and the share of its width that a bar fills."""

    text: str
    share: float | None = None
    class_: str | None = None


Content: TypeAlias = str | Cell


def text(content: str) -> Markup:
    """Escapes text; leaves markup as it is."""
    return content if isinstance(content, Markup) else Markup(escape(content))


def tag(name: str, *content: str, **attributes: str | None) -> Markup:
    """An element; `class_` is written class, and an attribute of None is left out."""
    attribute_text = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{attribute_text}>{''.join(map(text, content))}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """Joins parts by newlines."""
    return Markup("\n".join(map(text, parts)))


def table(
    headings: Sequence[str], rows: Iterable[Sequence[Content]], *, class_: str | None = None
) -> Markup:
    """A table in a scrolling box; the first cell of a row is its heading."""
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
