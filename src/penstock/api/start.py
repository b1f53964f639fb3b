"""Where a subscription begins to read: words, so far back, a time, or a position."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from penstock.api.position import Position
from penstock.api.units import duration_ns, quoted
from penstock.kernel.errors import UsageError

Start: TypeAlias = str | datetime | Position

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(.*)")


class StartKind(StrEnum):
    """The kinds of places to begin."""

    NOW = "now"
    FIRST = "first"
    # The last message for each value of an attribute; caches only.
    LAST = "last"
    # At the first message published at `time_ns` or later.
    TIME = "time"
    # Behind `position`.
    POSITION = "position"


@dataclass(frozen=True, slots=True)
class StartPoint:
    """A `Start` that has been understood; times are Unix time."""

    kind: StartKind
    time_ns: int = 0
    position: Position | None = None


def start_point(start: Start, *, now_ns: int, of_stream: bool) -> StartPoint:
    """Where to begin; `now_ns`, the Unix time here, is what `"-30s"` counts back from.

    Besides the words, text may be a day, which begins at midnight UTC, a time with its zone
    (`"2026-11-18T10:42:07Z"`) or the text of a position, as a command line has nothing but text.
    """
    if isinstance(start, Position):
        return StartPoint(StartKind.POSITION, position=start)
    if isinstance(start, datetime):
        if start.tzinfo is None:
            raise _without_zone(start, "datetime(..., tzinfo=UTC)")
        return _at_time(start)
    if not isinstance(start, str):
        raise _wrong(start, of_stream)
    if start in ("now", "first"):
        return StartPoint(StartKind(start))
    if start == "last":
        if of_stream:
            raise UsageError(
                'start of a stream cannot be "last":'
                ' write "first", "now", or how far back, such as "-30s"'
            )
        return StartPoint(StartKind.LAST)
    try:
        if start.startswith("-"):
            back_ns = duration_ns("start", start[1:])
            return StartPoint(StartKind.TIME, time_ns=max(0, now_ns - back_ns))
        date = _DATE.fullmatch(start)
        if date is None:
            return StartPoint(StartKind.POSITION, position=Position.parse(start))
        at = datetime.fromisoformat(start)
    except ValueError:
        raise _wrong(start, of_stream) from None
    if not date[1]:
        at = at.replace(tzinfo=UTC)
    elif at.tzinfo is None:
        raise _without_zone(at, f"{at.isoformat()}Z for UTC")
    return _at_time(at)


def _at_time(at: datetime) -> StartPoint:
    microseconds = (at - _EPOCH) // timedelta(microseconds=1)
    return StartPoint(StartKind.TIME, time_ns=max(0, microseconds * 1_000))


def _without_zone(at: datetime, instead: str) -> UsageError:
    return UsageError(f"start {at.isoformat()} has no time zone: write {instead}")


def _wrong(start: object, of_stream: bool) -> UsageError:
    words = '"now", "first"' if of_stream else '"now", "first", "last"'
    return UsageError(
        f'start cannot be {quoted(start)}: write {words}, how far back ("-30s"),'
        ' a time ("2026-11-18T10:42:07Z"), or a position'
    )
