"""Counts what a durable subscription has lost and got twice, from the journal of its reader.

What counts as doubled: within one life of a program any message that comes again; across its lives
one that was acknowledged, one that comes again without saying so (`attempt`), and, for a program
that passes its checkpoints back, any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any


def problems_of(
    rows: Iterable[Mapping[str, Any]],
    *,
    confirmed: int,
    wanted: Callable[[int], bool],
    keeps_checkpoints: bool,
) -> list[str]:
    """One line for each thing that is wrong; `confirmed` is the last number that was."""
    expected = [number for number in range(1, confirmed + 1) if wanted(number)]
    place = {number: at for at, number in enumerate(expected)}
    problems: list[str] = []
    # How many of those expected came: all lives together, as of each life.
    had, lasts, acknowledged = 0, -1, 0
    lives = 0
    for row in rows:
        if "life" in row:
            lives, lasts = lives + 1, -1
        elif "acknowledged" in row:
            acknowledged = max(acknowledged, row["acknowledged"])
        for number, attempt in row.get("got", ()):
            at = place.get(number)
            if at is None:
                if number > confirmed and wanted(number):
                    # Stored, but its publisher was not told any more.
                    continue
                problems.append(f"life {lives}: {number} is not wanted")
                continue
            if at < had:
                problems.extend(
                    f"life {lives}: {number} is doubled: {why}"
                    for why in _doubled(
                        in_this_life=at <= lasts,
                        is_acknowledged=number <= acknowledged,
                        keeps_checkpoints=keeps_checkpoints,
                        attempt=attempt,
                    )
                )
            elif at > had:
                problems.append(f"life {lives}: {expected[had:at][:5]} lost before {number}")
            if lasts >= 0 and at != lasts + 1:
                problems.append(f"life {lives}: {number} came behind {expected[lasts]}")
            lasts = at
            had = max(had, at + 1)
    if had < len(expected):
        problems.append(f"lost: {len(expected) - had} from {expected[had]} on")
    return problems


def _doubled(
    *, in_this_life: bool, is_acknowledged: bool, keeps_checkpoints: bool, attempt: int
) -> list[str]:
    if in_this_life:
        return ["it came before in this life"]
    if is_acknowledged:
        return ["it was acknowledged"]
    if keeps_checkpoints:
        return ["it is below the checkpoint"]
    if attempt < 2:
        return [f"attempt {attempt}"]
    return []
