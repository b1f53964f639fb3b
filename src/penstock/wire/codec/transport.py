"""The transport frames, one row each.

Numbers below 0x40 are transport's. 0x05 to 0x08 are kept for FEEDBACK, ECHO_REQ,
ECHO_REP and LEAVE.
"""

from typing import Final

from penstock.wire.codec import data, digest, recall, repair, request, track, tracked
from penstock.wire.codec.table import Row, Table
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.recall import Recall
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.frames.track import Track
from penstock.wire.frames.tracked import Tracked
from penstock.wire.limits import FRAME_BYTES_MAX

TRANSPORT: Final[Table[TransportFrame]] = Table(
    [
        Row(0x01, "DATA", Data, data, FRAME_BYTES_MAX),
        Row(0x02, "DIGEST", Digest, digest, FRAME_BYTES_MAX),
        Row(0x03, "REQUEST", Request, request, FRAME_BYTES_MAX),
        Row(0x04, "REPAIR", Repair, repair, FRAME_BYTES_MAX),
        Row(0x09, "TRACK", Track, track, FRAME_BYTES_MAX),
        Row(0x0A, "TRACKED", Tracked, tracked, FRAME_BYTES_MAX),
        Row(0x0B, "RECALL", Recall, recall, FRAME_BYTES_MAX),
    ]
)
