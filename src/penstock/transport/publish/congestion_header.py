"""What a publisher's congestion control says in front of each message."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.wire.frames.data import Echo, FlowTag


class CongestionHeader(NamedTuple):
    """The flows that the message is in, a receiver's stamp, and how far away the farthest is."""

    flows: tuple[FlowTag, ...] = ()
    echo: Echo | None = None
    r_max_code: int = 0
    feedback_round: int = 0


NO_CONGESTION_HEADER: Final = CongestionHeader()
