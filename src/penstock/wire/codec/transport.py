"""The transport frames, one row each. Their type codes are below 0x40."""

from typing import Final

from penstock.wire.codec import (
    ack,
    data,
    digest,
    echo_reply,
    echo_request,
    feedback,
    range_request,
    repair,
    request,
    track_reply,
    track_request,
)
from penstock.wire.codec.codec_table import CodecRow, CodecTable
from penstock.wire.frames.ack import Ack
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.echo_reply import EchoReply
from penstock.wire.frames.echo_request import EchoRequest
from penstock.wire.frames.feedback import Feedback
from penstock.wire.frames.range_request import RangeRequest
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.frames.track_reply import TrackReply
from penstock.wire.frames.track_request import TrackRequest
from penstock.wire.limits import FRAME_BYTES_MAX

TRANSPORT: Final[CodecTable[TransportFrame]] = CodecTable(
    [
        CodecRow(0x01, "DATA", Data, data, FRAME_BYTES_MAX),
        CodecRow(0x02, "DIGEST", Digest, digest, FRAME_BYTES_MAX),
        CodecRow(0x03, "REQUEST", Request, request, FRAME_BYTES_MAX),
        CodecRow(0x04, "REPAIR", Repair, repair, FRAME_BYTES_MAX),
        CodecRow(0x05, "FEEDBACK", Feedback, feedback, FRAME_BYTES_MAX),
        CodecRow(0x06, "ECHO_REQ", EchoRequest, echo_request, FRAME_BYTES_MAX),
        CodecRow(0x07, "ECHO_REP", EchoReply, echo_reply, FRAME_BYTES_MAX),
        CodecRow(0x08, "ACK", Ack, ack, FRAME_BYTES_MAX),
        CodecRow(0x09, "TRACK", TrackRequest, track_request, FRAME_BYTES_MAX),
        CodecRow(0x0A, "TRACKED", TrackReply, track_reply, FRAME_BYTES_MAX),
        CodecRow(0x0B, "RECALL", RangeRequest, range_request, FRAME_BYTES_MAX),
    ]
)
