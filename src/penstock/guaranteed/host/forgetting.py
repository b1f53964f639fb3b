"""Durable names that are forgotten here and that pubends must still release.

A note on disk outlives a crash until every pubend has answered: a name that was never released
would hold its messages for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk, OnSaved
from penstock.guaranteed.host.durable import Durable
from penstock.guaranteed.host.holds import Holds
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.base import Start, StartKind
from penstock.wire.frames.guaranteed.rows import Held

KEY: Final = "forgetting/"


class Forgetting:
    """What is still to be released."""

    def __init__(
        self,
        disk: Disk,
        holds: Holds,
        *,
        has_pubend: Callable[[int], bool],
        knows_all_pubends: Callable[[], bool],
    ) -> None:
        self._has_pubend: Final = has_pubend
        self._knows_all_pubends: Final = knows_all_pubends
        self._disk: Final = disk
        self._holds: Final = holds
        self._left: Final[dict[str, set[int]]] = {}
        # Found on disk and not asked for in this life.
        self._found: Final[dict[str, list[int]]] = {}

    def restore(self, stored: Mapping[str, bytes], durables: Mapping[str, Durable]) -> None:
        """Takes up what was saved, except where the name is in use again."""
        for key, value in stored.items():
            if key.startswith(KEY):
                name = key.removeprefix(KEY)
                held = durables[name].cursors if name in durables else {}
                pubends = msgspec.msgpack.decode(value, type=list[int])
                self._found[name] = [pubend for pubend in pubends if pubend not in held]

    def note(self, name: str, pubends: Sequence[int]) -> OnSaved:
        """Notes that a name is to be released at these pubends; returns what asks them to.

        They must not be asked before the name is off the disk: else it could be back after a crash,
        and its messages trimmed.
        """
        left = self._left.setdefault(name, set()) if pubends else set()
        left.update(pubends)
        self._disk.save(KEY + name, msgspec.msgpack.encode(sorted(left)) if left else None)
        releases = [self._release(name, pubend) for pubend in pubends]

        def release(now: Instant) -> None:
            for send in releases:
                send(now)

        return release

    def wake(self, *, now: Instant) -> None:
        """Asks for what an earlier life has left, once it is known which pubends there are."""
        while self._found and self._is_ready():
            name, pubends = self._found.popitem()
            self.note(name, [p for p in pubends if self._has_pubend(p)])(now)

    def forget_pubend(self, pubend: int) -> None:
        """The pubend is gone, with all that it held."""
        for name in list(self._left):
            self._released(name, pubend)

    def next_wakeup(self) -> Instant | None:
        """At once, if there is anything from an earlier life."""
        return 0 if self._found and self._is_ready() else None

    def _is_ready(self) -> bool:
        """Whether all pubends are there, or are known to be gone."""
        return self._knows_all_pubends() or all(
            self._has_pubend(pubend) for pubends in self._found.values() for pubend in pubends
        )

    def _release(self, name: str, pubend: int) -> Callable[[Instant], None]:
        def held(_frame: Held, _now: Instant) -> None:
            self._released(name, pubend)

        start = Start(StartKind.FIRST)
        return self._holds.prepare(pubend, name, start, keep=False, then=held)

    def _released(self, name: str, pubend: int) -> None:
        left = self._left.get(name)
        if left is None:
            return
        left.discard(pubend)
        if not left:
            del self._left[name]
            self._disk.save(KEY + name, None)
