"""The two connections of a link, and which of them carries each type of frame.

What concerns congestion must not queue behind the data that it is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionQuery,
    CongestionReport,
    Live,
)
from penstock.wire.frames.guaranteed.hello import Hello, Ping
from penstock.wire.frames.guaranteed.knowledge import Data, Gap, Horizon, Silence
from penstock.wire.frames.guaranteed.lag import LagAnswer, LagRequest
from penstock.wire.frames.guaranteed.requests import (
    FilterAck,
    FilterRequest,
    Nack,
    ReaderRequest,
)
from penstock.wire.frames.guaranteed.rows import Ack, Held, Hold


class Channel(Enum):
    """A connection of a link."""

    CONTROL = "control"
    DATA = "data"
    # Each connection has its own. What a machine says of its pubends goes with the data, since it
    # must arrive before them.
    BOTH = "both"


CHANNEL_OF: Final[Mapping[type, Channel]] = {
    Hello: Channel.BOTH,
    Ping: Channel.BOTH,
    Data: Channel.DATA,
    Silence: Channel.DATA,
    Gap: Channel.DATA,
    Horizon: Channel.DATA,
    Nack: Channel.DATA,
    Hold: Channel.DATA,
    Held: Channel.DATA,
    Ack: Channel.DATA,
    FilterRequest: Channel.DATA,
    FilterAck: Channel.DATA,
    ReaderRequest: Channel.DATA,
    # Of no order with the others, and wanted most when much waits.
    LagRequest: Channel.CONTROL,
    LagAnswer: Channel.CONTROL,
    Live: Channel.CONTROL,
    CongestionQuery: Channel.CONTROL,
    CongestionAlert: Channel.CONTROL,
    CongestionReport: Channel.CONTROL,
}
