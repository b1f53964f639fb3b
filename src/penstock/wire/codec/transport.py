"""The transport frames, one row each.

Numbers below 0x40 are transport's. 0x02 to 0x08 are kept for DIGEST, REQUEST,
REPAIR, FEEDBACK, ECHO_REQ, ECHO_REP and LEAVE.
"""

from typing import Final

from penstock.wire.codec import data
from penstock.wire.codec.table import Row, Table
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.limits import FRAME_BYTES_MAX

TRANSPORT: Final[Table[TransportFrame]] = Table(
    [
        Row(0x01, "DATA", Data, data, FRAME_BYTES_MAX),
    ]
)
