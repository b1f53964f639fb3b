"""The publishing side: a number, a time, a rate and a record for each message.

A number is given when a message leaves, so there are no holes but those that the
network makes. Everything is at wire precision.
"""

from __future__ import annotations

from typing import Final

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Duration, Instant
from penstock.transport.publish.congestion_header import NO_HEAD, Head
from penstock.transport.publish.record_writer import RecordKeeper
from penstock.transport.settings import EndpointSettings
from penstock.wire import fit
from penstock.wire.codec.data import check_message
from penstock.wire.frames.data import Data, Flow
from penstock.wire.limits import FLOWS_MAX
from penstock.wire.quantise import delta_100us, quantise_rate, stamp_us
from penstock.wire.serial import SEQ_BITS, after


class Publisher:
    """Makes the frames of one epoch."""

    __slots__ = (
        "_checked",
        "_departed",
        "_epoch",
        "_is_literal",
        "_keeper",
        "_pub",
        "_rate",
        "_seq",
    )

    def __init__(self, pub: int, epoch: int, encoder: Encoder, settings: EndpointSettings) -> None:
        self._pub: Final = pub
        self._epoch: Final = epoch
        self._keeper: Final = RecordKeeper(settings.record, encoder)
        self._is_literal: Final = settings.record.bloom is not None
        self._rate: Final = SendRate(settings.rate_over_ns)
        self._seq = 0
        self._departed: Instant | None = None
        # The message that was checked last, and its bytes: most leave at once.
        self._checked: tuple[Message, int] | None = None

    def frame(
        self, message: Message, now: Instant, flows: tuple[Flow, ...] = (), head: Head = NO_HEAD
    ) -> Data:
        """The next message, which leaves now, and has these numbers in flows beside its head's."""
        before = now if self._departed is None else self._departed
        frame = Data(
            pub=self._pub,
            epoch=self._epoch,
            seq=self._seq,
            send_ts_us=stamp_us(now),
            prev_delta_100us=delta_100us(now - before),
            send_rate_mps=quantise_rate(self._rate.sent(now)),
            r_max_code=head.r_max_code,
            fb_round=head.fb_round,
            message=message,
            flows=(head.flows + flows)[:FLOWS_MAX],
            echo=head.echo,
            record=self._keeper.attach(message, now),
            literal=self._is_literal,
        )
        checked = self._checked
        known_bytes = checked[1] if checked is not None and checked[0] is message else None
        try:
            frame = fit(frame, known_bytes)
        except UsageError:
            # Too large to leave: it has no number, and later records must not tell of it.
            self._keeper.retract()
            raise
        self._seq = after(self._seq, SEQ_BITS)
        self._departed = now
        return frame

    def check(self, message: Message) -> None:
        """Refuses what is too large to leave, before it waits for its turn."""
        self._checked = message, check_message(message)


class SendRate:
    """Messages a second over the last stretch: what is sent in this one, and a part of the last."""

    __slots__ = ("_before", "_count", "_over_ns", "_start")

    def __init__(self, over_ns: Duration) -> None:
        self._over_ns: Final = over_ns
        self._start: Instant | None = None
        self._count = 0
        # None while the first stretch lasts.
        self._before: int | None = None

    def sent(self, now: Instant) -> float:
        """One more; the rate with it."""
        if self._start is None:
            self._start = now
        since = now - self._start
        if since >= self._over_ns:
            stretches = since // self._over_ns
            self._before = self._count if stretches == 1 else 0
            self._count = 0
            self._start += stretches * self._over_ns
            since = now - self._start
        self._count += 1
        if self._before is None:
            # The first stretch is not over: what was sent is all that is known.
            return self._count * 1e9 / max(since, self._over_ns / 10)
        return (self._before * (1 - since / self._over_ns) + self._count) * 1e9 / self._over_ns
