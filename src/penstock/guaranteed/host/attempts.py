"""How often messages were handed out: what may have been handed out before comes one at a time.

A client that dies leaves messages of which nobody knows whether they were dealt with. The oldest of
them may be what killed it, so its count is on disk before it is handed out again: a crash loop
counts. The next one comes when that one is acknowledged, or when the client has lived with it for a
while: it may acknowledge many at once. To know after a crash of the host how far messages were
handed out, ticks are reserved on disk a little ahead; no message at or above the reserved tick
leaves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum
from typing import Final

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.host.durable import Durable
from penstock.guaranteed.settings import HostSettings
from penstock.guaranteed.tick import duration_ticks
from penstock.kernel.instant import Instant
from penstock.kernel.retry import Backoff
from penstock.wire.frames.guaranteed.base import STOP_MAX
from penstock.wire.frames.guaranteed.poison import REASONS_MAX

_NO_END: Final = 1 << 64


class Verdict(Enum):
    """What is to be done with the next message of a feed."""

    GO = 0
    # Until something is on disk, acknowledged, or long enough ago: `resume` is called then.
    WAIT = 1
    # It was handed out too often.
    POISON = 2


class Attempts:
    """Of one feed; without a durable name counts live in memory only."""

    def __init__(
        self,
        durable: Durable | None,
        pubend: int,
        *,
        disk: Disk,
        settings: HostSettings,
        resume: Callable[[Instant], None],
        resume_at: Callable[[Instant], None],
        again_stop: int = 0,
        handed_stop: int = 0,
    ) -> None:
        # None was handed out at or above it.
        self.handed_stop = handed_stop
        # After a failure nothing is handed out before that time.
        self.again_at: Instant | None = None
        # What the client said of the message that fails now, the oldest first.
        self.reasons: Final[deque[str]] = deque(maxlen=REASONS_MAX)
        self._durable: Final = durable
        self._pubend: Final = pubend
        self._disk: Final = disk
        self._resume: Final = resume
        # Asks for a later call of `resume`.
        self._resume_at: Final = resume_at
        self._alone_ns: Final = settings.alone_ns
        self._ahead: Final = duration_ticks(settings.reserve_ns)
        self._backoff: Final = Backoff(
            first_ns=settings.fail_retry_ns,
            max_ns=settings.fail_retry_max_ns,
            doublings_max=32,
        )
        self._counts: Final = {} if durable is None else durable.attempts
        self._set_again_stop(again_stop)
        # A tick whose count is being saved; one whose count is on disk and which is not out yet.
        self._saving: int | None = None
        self._counted: int | None = None
        # The message that has come again and is not acknowledged.
        self._unanswered: int | None = None
        # How long it comes alone; whether the client has lived with one for so long.
        self._alone_until: Instant = 0
        self._has_outlived = False
        self._is_reserving = False

    def count(self, tick: int) -> int:
        """How often the message may have been handed out."""
        counted_tick, count = self._counts.get(self._pubend, (-1, 0))
        if tick == counted_tick:
            return count
        return 1 if tick < self.again_stop else 0

    def _is_counted(self, tick: int) -> bool:
        """Whether the count is of this very message.

        Others before `again_stop` may have waited in the client, unseen: they count as handed out,
        but none of them is given up for that alone.
        """
        return self._counts.get(self._pubend, (-1, 0))[0] == tick

    def is_backing_off(self, now: Instant) -> bool:
        """Whether a failure was not long ago."""
        return self.again_at is not None and now < self.again_at

    def untried(self) -> tuple[int, int]:
        """Messages from the first tick up to the second may be handed out without `admit`.

        None was handed out before, and the disk knows that they may be.
        """
        counted_tick, _ = self._counts.get(self._pubend, (-1, 0))
        durable = self._durable
        stop = _NO_END if durable is None else durable.saved_reserved.get(self._pubend, 0)
        return max(self.again_stop, counted_tick + 1), stop

    def admit(self, tick: int, *, now: Instant) -> Verdict:
        """Whether a message may be handed out; begins what is needed for it."""
        count = self.count(tick)
        if not count:
            return Verdict.GO if self.reserve(tick) else Verdict.WAIT
        if self._counted == tick:
            self._alone_until = now + self._alone_ns
            self._resume_at(self._alone_until)
            return Verdict.GO
        if self._unanswered is not None and now >= self._alone_until:
            self._has_outlived = True
        if self._has_outlived:
            return Verdict.GO if self.reserve(tick) else Verdict.WAIT
        if self._unanswered is not None or self._saving is not None or self.is_backing_off(now):
            return Verdict.WAIT
        durable = self._durable
        if durable is None:
            self._counts[self._pubend] = (tick, count + 1)
            self._counted = tick
            return Verdict.GO
        if durable.attempts_max and self._is_counted(tick) and count >= durable.attempts_max:
            return Verdict.POISON
        self._counts[self._pubend] = (tick, count + 1)
        self._saving = tick
        durable.save(self._disk, lambda then: self._on_saved(tick, then))
        return Verdict.WAIT

    def hand_out(self, tick: int) -> int:
        """A message leaves; returns which attempt that is."""
        self.handed_stop = max(self.handed_stop, tick + 1)
        if self._counted != tick:
            return self.count(tick) + 1
        self._counted, self._unanswered = None, tick
        return self._counts[self._pubend][1]

    def acknowledge(self, tick: int) -> None:
        """Everything up to and including `tick` has been dealt with."""
        if self._unanswered is not None and self._unanswered <= tick:
            self._unanswered = None
        counted_tick, _ = self._counts.get(self._pubend, (tick + 1, 0))
        if counted_tick <= tick:
            del self._counts[self._pubend]

    def fail(self, tick: int, reason: str, *, now: Instant) -> None:
        """The client could not deal with a message: it and all behind it come again, later.

        Only this one has been tried.
        """
        count = max(1, self.count(tick))
        if not self._is_counted(tick):
            self.reasons.clear()
        self.reasons.append(reason)
        self._counts[self._pubend] = (tick, count)
        self._saving = self._counted = self._unanswered = None
        self._has_outlived = False
        self.again_at = now + self._backoff.wait_ns(count - 1)

    def skip(self, tick: int) -> None:
        """The message was put aside."""
        self.acknowledge(tick)

    def reset(self) -> None:
        """Reading begins somewhere else, by the will of somebody: nothing comes again."""
        self._counts.pop(self._pubend, None)
        self._set_again_stop(0)
        self.handed_stop = 0
        self._saving = self._counted = self._unanswered = self.again_at = None

    def reserve(self, tick: int) -> bool:
        """Whether `tick` may be handed out as far as the disk knows; if not, it soon may."""
        durable = self._durable
        if durable is None or tick < durable.saved_reserved.get(self._pubend, 0):
            return True
        self._reserve_up_to(durable, tick)
        return False

    def renew(self, position: int) -> None:
        """Reserves in time, so that who follows the stream never waits."""
        durable = self._durable
        if durable is None:
            return
        if durable.saved_reserved.get(self._pubend, 0) < position + self._ahead // 2:
            self._reserve_up_to(durable, position)

    def _set_again_stop(self, stop: int) -> None:
        """A message before `stop` may have been handed out before; saved with the next count."""
        self.again_stop = stop
        if self._durable is not None:
            self._durable.again[self._pubend] = stop

    def _reserve_up_to(self, durable: Durable, tick: int) -> None:
        if self._is_reserving:
            return
        self._is_reserving = True
        durable.reserved[self._pubend] = max(
            min(tick + 1 + self._ahead, STOP_MAX), durable.reserved.get(self._pubend, 0)
        )
        durable.save(self._disk, self._on_reserved)

    def _on_reserved(self, now: Instant) -> None:
        self._is_reserving = False
        self._resume(now)

    def _on_saved(self, tick: int, now: Instant) -> None:
        if self._saving == tick:
            self._saving, self._counted = None, tick
            self._resume(now)
