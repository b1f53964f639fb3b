"""HOLDs that pubends have not answered: each is repeated until HELD comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from penstock.guaranteed.settings import HostSettings
from penstock.kernel.instant import Instant, earliest
from penstock.wire.frames.guaranteed.base import BrokerFrame, Serial, Start
from penstock.wire.frames.guaranteed.rows import Held, Hold

OnHeld: TypeAlias = Callable[[Held, Instant], None]


class _Open(msgspec.Struct):
    frame: Hold
    then: OnHeld
    # None: it has not been sent yet.
    again_at: Instant | None = None


class Holds:
    """The HOLDs of one host, numbered by pubend."""

    def __init__(
        self,
        host: str,
        life: int,
        *,
        settings: HostSettings,
        ask: Callable[[BrokerFrame], None],
    ) -> None:
        self._host: Final = host
        self._life: Final = life
        self._again_ns: Final = settings.ask_again_ns
        self._ask: Final = ask
        self._open: Final[dict[tuple[int, Serial], _Open]] = {}
        self._numbers: Final[dict[int, int]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def is_open(self, pubend: int) -> bool:
        """Whether a HOLD of this pubend is under way."""
        return any(key[0] == pubend for key in self._open)

    def last_serial(self, pubend: int) -> Serial:
        """That of the last HOLD: an ACK carries it."""
        return Serial(self._life, self._numbers.get(pubend, 0))

    def ask(
        self, pubend: int, durable: str, start: Start, *, keep: bool, then: OnHeld, now: Instant
    ) -> None:
        """Sends a HOLD; `then` gets the answer."""
        self.prepare(pubend, durable, start, keep=keep, then=then)(now)

    def prepare(
        self, pubend: int, durable: str, start: Start, *, keep: bool, then: OnHeld
    ) -> Callable[[Instant], None]:
        """Numbers a HOLD before others that may be sent first; returns what sends it."""
        self._numbers[pubend] = self._numbers.get(pubend, 0) + 1
        frame = Hold(
            pubend=pubend,
            host=self._host,
            serial=self.last_serial(pubend),
            durable=durable,
            start=start,
            keep=keep,
        )
        hold = self._open[pubend, frame.serial] = _Open(frame, then)

        def send(now: Instant) -> None:
            if self._open.get((pubend, frame.serial)) is hold:
                hold.again_at = now + self._again_ns
                self._ask(frame)

        return send

    def on_held(self, frame: Held, *, now: Instant) -> None:
        """An answer; one that was answered before is ignored."""
        hold = self._open.pop((frame.pubend, frame.serial), None)
        if hold is not None:
            hold.then(frame, now)

    def is_asked(self, pubend: int, durable: str) -> bool:
        """Whether a HOLD for this name is under way there."""
        frames = (hold.frame for hold in self._open.values())
        return any(each.pubend == pubend and each.durable == durable for each in frames)

    def cancel(self, durable: str) -> list[int]:
        """The name is forgotten; returns the pubends that may hold it, or will."""
        keys = [key for key, hold in self._open.items() if hold.frame.durable == durable]
        for key in keys:
            del self._open[key]
        return [pubend for pubend, _ in keys]

    def forget_pubend(self, pubend: int) -> None:
        """The pubend is gone: nobody will answer."""
        for key in [key for key in self._open if key[0] == pubend]:
            del self._open[key]

    def wake(self, *, now: Instant) -> None:
        """Repeats what is not answered."""
        for hold in self._open.values():
            if hold.again_at is not None and hold.again_at <= now:
                hold.again_at = now + self._again_ns
                self._ask(hold.frame)

    def next_wakeup(self) -> Instant | None:
        """The next repetition."""
        return earliest(*(hold.again_at for hold in self._open.values()))
