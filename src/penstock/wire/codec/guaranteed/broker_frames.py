"""The frames between brokers, one row each. Their type codes are 0x80 to 0x9F."""

from typing import Final

from penstock.wire.codec.codec_table import CodecRow, CodecTable
from penstock.wire.codec.guaranteed.congestion import (
    AlertCodec,
    LiveCodec,
    QueryCodec,
    ReportCodec,
)
from penstock.wire.codec.guaranteed.hello import HelloCodec, PingCodec
from penstock.wire.codec.guaranteed.knowledge import (
    DataCodec,
    GapCodec,
    HorizonCodec,
    SilenceCodec,
)
from penstock.wire.codec.guaranteed.lag import LagAnswerCodec, LagRequestCodec
from penstock.wire.codec.guaranteed.requests import (
    FilterAckCodec,
    FilterCodec,
    NackCodec,
    ReaderCodec,
)
from penstock.wire.codec.guaranteed.rows import AckCodec, HeldCodec, HoldCodec
from penstock.wire.frames.guaranteed.base import BrokerFrame
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

BROKER_FRAMES: Final[CodecTable[BrokerFrame]] = CodecTable(
    [
        CodecRow(0x80, "HELLO", Hello, HelloCodec, HelloCodec.BYTES_MAX),
        CodecRow(0x81, "PING", Ping, PingCodec, PingCodec.BYTES_MAX),
        CodecRow(0x82, "DATA", Data, DataCodec, DataCodec.BYTES_MAX),
        CodecRow(0x83, "SILENCE", Silence, SilenceCodec, SilenceCodec.BYTES_MAX),
        CodecRow(0x84, "GAP", Gap, GapCodec, GapCodec.BYTES_MAX),
        CodecRow(0x85, "HORIZON", Horizon, HorizonCodec, HorizonCodec.BYTES_MAX),
        CodecRow(0x86, "NACK", Nack, NackCodec, NackCodec.BYTES_MAX),
        CodecRow(0x87, "HOLD", Hold, HoldCodec, HoldCodec.BYTES_MAX),
        CodecRow(0x88, "HELD", Held, HeldCodec, HeldCodec.BYTES_MAX),
        CodecRow(0x89, "ACK", Ack, AckCodec, AckCodec.BYTES_MAX),
        CodecRow(0x8A, "FILTER", FilterRequest, FilterCodec, FilterCodec.BYTES_MAX),
        CodecRow(0x8B, "FILTER_ACK", FilterAck, FilterAckCodec, FilterAckCodec.BYTES_MAX),
        CodecRow(0x8C, "READER", ReaderRequest, ReaderCodec, ReaderCodec.BYTES_MAX),
        CodecRow(0x8D, "LAG", LagRequest, LagRequestCodec, LagRequestCodec.BYTES_MAX),
        CodecRow(0x8E, "LAG_ANSWER", LagAnswer, LagAnswerCodec, LagAnswerCodec.BYTES_MAX),
        CodecRow(0x90, "LIVE", Live, LiveCodec, LiveCodec.BYTES_MAX),
        CodecRow(0x91, "DCQ", CongestionQuery, QueryCodec, QueryCodec.BYTES_MAX),
        CodecRow(0x92, "UCA", CongestionAlert, AlertCodec, AlertCodec.BYTES_MAX),
        CodecRow(0x93, "REPORT", CongestionReport, ReportCodec, ReportCodec.BYTES_MAX),
    ]
)
