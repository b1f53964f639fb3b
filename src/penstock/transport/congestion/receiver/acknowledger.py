"""Acknowledges every message of the flows that this receiver limits (window law).

A flow is acknowledged from the announcement that names this receiver until one that names
another. Does not know the window: that is the publisher's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.kernel.instant import Instant
from penstock.kernel.sequence import FLOW_SEQ
from penstock.transport.congestion.facts import AckSent
from penstock.transport.congestion.feedback_protocol import CLR_MASK
from penstock.wire.frames.ack import RECEIVED_BITMAP_BITS, Ack, FlowAck
from penstock.wire.frames.data import Data

_RECEIVED_MASK: Final = (1 << RECEIVED_BITMAP_BITS) - 1
# Per publisher. A correct publisher announces no more flows than this receiver requested.
_FLOWS_MAX: Final = 64


class _AckState:
    """The highest sequence number received, and a bitmap of those before it."""

    __slots__ = ("highest_seq", "received_bits")

    def __init__(self, first_seq: int) -> None:
        self.highest_seq = first_seq
        self.received_bits = 0

    def on_received(self, flow_seq: int) -> None:
        ahead = FLOW_SEQ.distance(flow_seq, self.highest_seq)
        if ahead > 0:
            received_bits = (
                (self.received_bits << 1 | 1) << ahead - 1 if ahead <= RECEIVED_BITMAP_BITS else 0
            )
            self.received_bits = received_bits & _RECEIVED_MASK
            self.highest_seq = flow_seq
        elif -RECEIVED_BITMAP_BITS <= ahead < 0:
            self.received_bits |= 1 << -ahead - 1


class Acknowledger:
    """The acknowledgements of one session; `send` gets the frames."""

    def __init__(
        self, endpoint_id: int, publisher: int, epoch: int, send: Callable[[AckSent, Instant], None]
    ) -> None:
        self._endpoint_id: Final = endpoint_id
        self._publisher: Final = publisher
        self._epoch: Final = epoch
        self._send: Final = send
        # By flow id, in the order of announcement.
        self._ack_states: Final[BoundedDict[int, _AckState]] = BoundedDict(_FLOWS_MAX)
        self._is_marked = False

    def __len__(self) -> int:
        return len(self._ack_states)

    def on_mark(self) -> None:
        """The next message to `on_data` was marked by the network."""
        self._is_marked = True

    def on_data(self, frame: Data, now: Instant) -> None:
        """Acknowledge a message that arrives for the first time."""
        acks, is_marked = [], self._is_marked
        self._is_marked = False
        for flow in frame.flows:
            if flow.announcement is not None:
                self._on_announced(flow.flow_id, flow.flow_seq, flow.announcement.clr)
            state = self._ack_states.get(flow.flow_id)
            if state is not None:
                state.on_received(flow.flow_seq)
                acks.append(
                    FlowAck(flow.flow_id, state.highest_seq, state.received_bits, is_marked)
                )
        if acks:
            ack = Ack(
                subscriber=self._endpoint_id,
                pub=self._publisher,
                epoch=self._epoch,
                flows=tuple(acks),
            )
            self._send(AckSent(ack), now)

    def _on_announced(self, flow_id: int, flow_seq: int, clr: int) -> None:
        if clr != self._endpoint_id & CLR_MASK:
            self._ack_states.pop(flow_id, None)
        elif flow_id not in self._ack_states:
            self._ack_states[flow_id] = _AckState(flow_seq)
