"""The frames of casts, one row each. Their type codes are 0xC0 to 0xDF.

DATA, 0xCE, goes through `symbols`.
"""

from __future__ import annotations

from typing import Final

from penstock.wire.codec.cast.control import ControlAckCodec, DownCodec, UpCodec
from penstock.wire.codec.cast.frame_table import CastRow, CastTable
from penstock.wire.codec.cast.framing import PACKET_FRAMING_BYTES, SHORT_FRAMING_BYTES
from penstock.wire.codec.cast.membership import AdvertiseCodec, SubscribeCodec, UnsubscribeCodec
from penstock.wire.codec.cast.neighbours import (
    BeaconCodec,
    HelloCodec,
    ProbeAnswerCodec,
    ProbeCodec,
)
from penstock.wire.codec.cast.packet import PacketCodec
from penstock.wire.codec.cast.plan import RelayConfigCodec, StartCodec
from penstock.wire.codec.cast.planning import PlanReplyCodec, PlanRequestCodec
from penstock.wire.codec.cast.rate import AllowedRateCodec, RateInForceCodec
from penstock.wire.codec.cast.report import ReportCodec
from penstock.wire.codec.cast.status import AnswerCodec, QueryCodec, StatusCodec
from penstock.wire.codec.cast.topology import LinkStateCodec
from penstock.wire.codec.cast.transfer import EndCodec, FirstCodec, FirstRequestCodec, StopCodec
from penstock.wire.frames.cast.control import ControlAck, Down, Up
from penstock.wire.frames.cast.membership import Advertise, Subscribe, Unsubscribe
from penstock.wire.frames.cast.neighbours import Beacon, Hello, Probe, ProbeAnswer
from penstock.wire.frames.cast.plan import RelayConfig, Start
from penstock.wire.frames.cast.planning import PlanReply, PlanRequest
from penstock.wire.frames.cast.rate import AllowedRate, RateInForce
from penstock.wire.frames.cast.report import Report
from penstock.wire.frames.cast.status import Query, QueryAnswer, Status
from penstock.wire.frames.cast.topology import LinkState
from penstock.wire.frames.cast.transfer import End, First, FirstRequest, Stop

NEIGHBOUR_FRAMES: Final = CastTable(
    [
        CastRow(0xC0, "HELLO", Hello, HelloCodec, HelloCodec.BYTES_MAX),
        CastRow(0xC1, "BEACON", Beacon, BeaconCodec, BeaconCodec.BYTES_MAX),
        CastRow(0xD8, "PROBE", Probe, ProbeCodec, ProbeCodec.BYTES_MAX),
        CastRow(0xD9, "PROBE_ANSWER", ProbeAnswer, ProbeAnswerCodec, ProbeAnswerCodec.BYTES_MAX),
    ],
    SHORT_FRAMING_BYTES,
)

# The bodies that UP and DOWN carry, and that packets carry too; UP carries DOWN as well.
_CARRIED: Final = CastTable(
    [
        CastRow(0xC2, "LINK_STATE", LinkState, LinkStateCodec, LinkStateCodec.BYTES_MAX),
        CastRow(0xC5, "CONTROL_ACK", ControlAck, ControlAckCodec, ControlAckCodec.BYTES_MAX),
        CastRow(0xC6, "ADVERTISE", Advertise, AdvertiseCodec, AdvertiseCodec.BYTES_MAX),
        CastRow(0xC7, "SUBSCRIBE", Subscribe, SubscribeCodec, SubscribeCodec.BYTES_MAX),
        CastRow(0xC8, "UNSUBSCRIBE", Unsubscribe, UnsubscribeCodec, UnsubscribeCodec.BYTES_MAX),
        CastRow(0xC9, "TM_REQ", PlanRequest, PlanRequestCodec, PlanRequestCodec.BYTES_MAX),
        CastRow(0xCA, "TM_REP", PlanReply, PlanReplyCodec, PlanReplyCodec.BYTES_MAX),
        CastRow(0xCB, "RP_CONF", RelayConfig, RelayConfigCodec, RelayConfigCodec.BYTES_MAX),
        CastRow(0xCC, "START", Start, StartCodec, StartCodec.BYTES_MAX),
        CastRow(0xCD, "FIRST", First, FirstCodec, FirstCodec.BYTES_MAX),
        CastRow(0xCF, "END", End, EndCodec, EndCodec.BYTES_MAX),
        CastRow(0xD0, "REPORT", Report, ReportCodec, ReportCodec.BYTES_MAX),
        CastRow(0xD1, "RATE_UP", AllowedRate, AllowedRateCodec, AllowedRateCodec.BYTES_MAX),
        CastRow(0xD2, "RATE_DOWN", RateInForce, RateInForceCodec, RateInForceCodec.BYTES_MAX),
        CastRow(0xD3, "FIRST_REQ", FirstRequest, FirstRequestCodec, FirstRequestCodec.BYTES_MAX),
        CastRow(0xD4, "STATUS", Status, StatusCodec, StatusCodec.BYTES_MAX),
        CastRow(0xD5, "STOP", Stop, StopCodec, StopCodec.BYTES_MAX),
        CastRow(0xD6, "QUERY", Query, QueryCodec, QueryCodec.BYTES_MAX),
        CastRow(0xD7, "ANSWER", QueryAnswer, AnswerCodec, AnswerCodec.BYTES_MAX),
    ],
    PACKET_FRAMING_BYTES,
)

_CARRIED_UP: Final = CastTable(
    [*_CARRIED.rows, CastRow(0xC4, "DOWN", Down, DownCodec(_CARRIED), DownCodec.BYTES_MAX)],
    PACKET_FRAMING_BYTES,
)

BODIES: Final = CastTable(
    [
        *_CARRIED_UP.rows,
        CastRow(0xC3, "UP", Up, UpCodec(_CARRIED_UP), UpCodec.BYTES_MAX),
    ],
    PACKET_FRAMING_BYTES,
)

PACKETS: Final = PacketCodec(BODIES)
