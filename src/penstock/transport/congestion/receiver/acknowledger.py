"""What a receiver acknowledges: every message of the flows that it is named to limit.

Knows a flow from the message that announces it with this receiver's name until one that
announces it with another's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from penstock.kernel.instant import Instant
from penstock.transport.congestion.facts import Acknowledged
from penstock.wire.frames.ack import CAME_BITS, Ack, FlowAck
from penstock.wire.frames.data import Data
from penstock.wire.serial import distance

_SEQ_BITS: Final = 32
_CAME_MASK: Final = (1 << CAME_BITS) - 1
_CLR_MASK: Final = (1 << 32) - 1
# Of one publisher: it may name us for no more than we asked for.
_FLOWS_MAX: Final = 64


class _Seen:
    """The highest number that came, and which of those before it did."""

    __slots__ = ("came", "last")

    def __init__(self, first: int) -> None:
        self.last = first
        self.came = 0

    def take(self, number: int) -> None:
        ahead = distance(number, self.last, _SEQ_BITS)
        if ahead > 0:
            came = (self.came << 1 | 1) << ahead - 1 if ahead <= CAME_BITS else 0
            self.came = came & _CAME_MASK
            self.last = number
        elif -CAME_BITS <= ahead < 0:
            self.came |= 1 << -ahead - 1


class Acker:
    """Of one session; `send` gets what is said."""

    def __init__(
        self, me: int, pub: int, epoch: int, send: Callable[[Acknowledged, Instant], None]
    ) -> None:
        self._me: Final = me
        self._pub: Final = pub
        self._epoch: Final = epoch
        self._send: Final = send
        # By the numbers of the flows; who was named last comes last.
        self._seen: Final[OrderedDict[int, _Seen]] = OrderedDict()
        self._is_marked = False

    def __len__(self) -> int:
        return len(self._seen)

    def on_marked(self) -> None:
        """The message that comes next is marked."""
        self._is_marked = True

    def on_data(self, frame: Data, now: Instant) -> None:
        """A message that came for the first time."""
        acks, is_marked = [], self._is_marked
        self._is_marked = False
        for flow in frame.flows:
            if flow.detail is not None:
                self._on_named(flow.flow_id, flow.flow_seq, flow.detail.clr)
            seen = self._seen.get(flow.flow_id)
            if seen is not None:
                seen.take(flow.flow_seq)
                acks.append(FlowAck(flow.flow_id, seen.last, seen.came, is_marked))
        if acks:
            ack = Ack(subscriber=self._me, pub=self._pub, epoch=self._epoch, flows=tuple(acks))
            self._send(Acknowledged(ack), now)

    def _on_named(self, flow_id: int, flow_seq: int, clr: int) -> None:
        if clr != self._me & _CLR_MASK:
            self._seen.pop(flow_id, None)
        elif flow_id not in self._seen:
            self._seen[flow_id] = _Seen(flow_seq)
            if len(self._seen) > _FLOWS_MAX:
                self._seen.popitem(last=False)
