"""What the log of a pubend holds: how much, what of it is damaged, and what may go.

Knows nothing of publishers, nor of what is being written just now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from penstock.guaranteed.disk import Disk
from penstock.guaranteed.facts import Alarm
from penstock.guaranteed.log_record import Counted, Fetched, RecoveredLog
from penstock.guaranteed.pubend.damage import Change, Damage
from penstock.guaranteed.pubend.retention import LogSize
from penstock.guaranteed.pubend.rows import Rows
from penstock.guaranteed.settings import Retention
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.lag import LagAnswer, LagRequest

# Where limits are saved that are not those of its creation.
_RETENTION: Final = "retention"
_DAMAGE: Final = "damage"


class StoredMessages:
    """Of one pubend."""

    def __init__(
        self,
        pubend: int,
        log: str,
        *,
        stream: str,
        recovered: RecoveredLog,
        saved: dict[str, bytes],
        retention: Retention,
        disk: Disk,
        rows: Rows,
        tell: Callable[[Alarm], None],
        wall_ns: Callable[[Instant], int],
    ) -> None:
        self._pubend: Final = pubend
        self._log: Final = log
        self._stream: Final = stream
        self._disk: Final = disk
        self._rows: Final = rows
        self._tell: Final = tell
        self._wall_ns: Final = wall_ns
        self.trimmed_upto = recovered.trimmed_upto
        changed = saved.get(_RETENTION)
        self.size: Final = LogSize(
            retention if changed is None else msgspec.msgpack.decode(changed, type=Retention)
        )
        self.size.restore(recovered.segments)
        self.damage: Final = Damage(
            f"pubend/{log}/{_DAMAGE}",
            disk,
            saved.get(_DAMAGE),
            trimmed_upto=recovered.trimmed_upto,
        )
        for place in self.damage:
            self.size.lose(place.stop - 1, place.messages)
        self._lose(self.damage.read(recovered.damaged))
        if self.damage.messages:
            self._tell_damage()

    def on_read(self, result: Fetched) -> None:
        """Damage within a full segment shows when it is read."""
        if result.gaps or self.damage.messages:
            changes = self.damage.read(result.gaps, result.records)
            self._lose(changes)
            if any(change.messages > 0 for change in changes):
                self._tell_damage()

    def has_room(self, body: bytes, *, synced: int, now: Instant) -> bool:
        """Whether a message fits, if need be in place of what all have read."""
        if self.size.is_full(len(body)):
            self.trim(synced=synced, now=now, needed_bytes=len(body))
            return not self.size.is_full(len(body))
        return True

    def trim(self, *, synced: int, now: Instant, needed_bytes: int = 0) -> None:
        """Gives up what may go, of the ticks up to `synced`."""
        upto = self.size.trim(
            self._rows.trim_limit(),
            synced=synced,
            wall_ns=self._wall_ns(now),
            needed_bytes=needed_bytes,
        )
        if upto is not None:
            self.trimmed_upto = max(self.trimmed_upto, upto)
            self.damage.trim(upto)
            self._disk.trim(self._log, upto)

    def change_retention(self, retention: Retention) -> None:
        """Other limits hold as soon as they are stored."""
        self._disk.save(
            f"pubend/{self._log}/{_RETENTION}",
            msgspec.msgpack.encode(retention),
            lambda _now: self.size.change(retention),
        )

    def count_behind(
        self, request: LagRequest, answer: Callable[[LagAnswer], None], *, synced: int
    ) -> None:
        """Has the log count what lies behind a tick, then answers."""

        def counted_behind(counted: Counted, then: Instant) -> None:
            # Behind a tick that is yet to come there is nothing.
            messages = max(0, counted.messages - self.damage.behind(request.tick))
            # What was given up may still be in the log, which goes by whole segments, or in a
            # cache on the way: how much of it a reader gets is not known.
            is_upper_bound = request.tick < self.trimmed_upto
            age_ns = self._wall_ns(then) - counted.oldest_ns
            answer(
                LagAnswer(
                    pubend=self._pubend,
                    host=request.host,
                    serial=request.serial,
                    messages=messages,
                    is_upper_bound=is_upper_bound,
                    size_bytes=self.size.newest_bytes(messages),
                    limit_bytes=self.size.retention.size_bytes or 0,
                    age_us=max(0, age_ns) // 1_000 if messages and counted.oldest_ns else 0,
                )
            )

        self._disk.count(self._log, request.tick, synced, counted_behind)

    def delete_saved(self) -> None:
        """The stream is deleted: nothing of it stays in the store."""
        self._disk.save(f"pubend/{self._log}/{_RETENTION}", None)
        self.damage.delete_saved()

    def _lose(self, changes: Sequence[Change]) -> None:
        for change in changes:
            self.size.lose(change.last_tick, change.messages)

    def _tell_damage(self) -> None:
        self._tell(Alarm("damaged", self.damage.in_words(self._stream)))
