"""Builds the data frame of each message: sequence number, timestamp, send rate and record.

The sequence number is assigned when the message is sent, so that gaps come only from the
network. All values have wire precision. Does not know when a message may be sent.
"""

from __future__ import annotations

from typing import Final

from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import Instant
from penstock.kernel.sequence import SEQ
from penstock.transport.publish.congestion_header import NO_CONGESTION_HEADER, CongestionHeader
from penstock.transport.publish.record_writer import RecordWriter
from penstock.transport.publish.send_rate import SendRate
from penstock.transport.settings import EndpointSettings
from penstock.wire import fit
from penstock.wire.codec.data import check_message
from penstock.wire.frames.data import Data, FlowTag
from penstock.wire.limits import FLOWS_MAX
from penstock.wire.quantise import delta_100us, quantise_rate, stamp_us


class Sequencer:
    """Builds the data frames of one epoch."""

    __slots__ = (
        "_checked",
        "_epoch",
        "_is_literal",
        "_last_sent_ns",
        "_next_seq",
        "_publisher",
        "_record_writer",
        "_send_rate",
    )

    def __init__(
        self, publisher: int, epoch: int, encoder: Encoder, settings: EndpointSettings
    ) -> None:
        self._publisher: Final = publisher
        self._epoch: Final = epoch
        self._record_writer: Final = RecordWriter(settings.record, encoder)
        self._is_literal: Final = settings.record.bloom is not None
        self._send_rate: Final = SendRate(settings.send_rate_interval_ns)
        self._next_seq = 0
        self._last_sent_ns: Instant | None = None
        # The message checked last, and its size in bytes: most are sent right after the check.
        self._checked: tuple[Message, int] | None = None

    def next_frame(
        self,
        message: Message,
        now: Instant,
        flow_tags: tuple[FlowTag, ...] = (),
        header: CongestionHeader = NO_CONGESTION_HEADER,
    ) -> Data:
        """Return the frame of a message sent now, with these flow tags after the header's."""
        previous_ns = now if self._last_sent_ns is None else self._last_sent_ns
        frame = Data(
            pub=self._publisher,
            epoch=self._epoch,
            seq=self._next_seq,
            send_ts_us=stamp_us(now),
            since_previous_100us=delta_100us(now - previous_ns),
            send_rate_mps=quantise_rate(self._send_rate.on_sent(now)),
            max_round_trip_code=header.r_max_code,
            feedback_round=header.feedback_round,
            message=message,
            flows=(header.flows + flow_tags)[:FLOWS_MAX],
            echo=header.echo,
            record=self._record_writer.append(message, now),
            has_bloom_entries=self._is_literal,
        )
        checked = self._checked
        known_bytes = checked[1] if checked is not None and checked[0] is message else None
        try:
            frame = fit(frame, known_bytes)
        except UsageError:
            # Too large to send: it gets no sequence number, and later records must not describe it.
            self._record_writer.undo()
            raise
        self._next_seq = SEQ.next(self._next_seq)
        self._last_sent_ns = now
        return frame

    def check_size(self, message: Message) -> None:
        """Reject a message that is too large, before it is queued."""
        self._checked = message, check_message(message)
