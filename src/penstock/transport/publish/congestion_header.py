"""The header fields that a publisher's congestion control adds to each message."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.wire.frames.data import Echo, FlowTag


class CongestionHeader(NamedTuple):
    """The message's flows, an echoed receiver timestamp, and the maximum round trip."""

    flows: tuple[FlowTag, ...] = ()
    echo: Echo | None = None
    r_max_code: int = 0
    feedback_round: int = 0


NO_CONGESTION_HEADER: Final = CongestionHeader()
