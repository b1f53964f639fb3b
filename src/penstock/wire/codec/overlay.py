"""The overlay frames, one row each. Their type codes are 0x40 to 0x7F."""

from typing import Final

from penstock.wire.codec import adv, hello, lsa, notify, packet, pub, sub, summary, unsub
from penstock.wire.codec.codec_table import CodecRow, CodecTable
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.hello import Hello
from penstock.wire.frames.lsa import Lsa
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.packet import Packet
from penstock.wire.frames.pub import Pub
from penstock.wire.frames.sub import Sub
from penstock.wire.frames.summary import Summary
from penstock.wire.frames.unsub import Unsub
from penstock.wire.limits import DATAGRAM_BYTES_MAX

OVERLAY: Final[CodecTable[OverlayFrame]] = CodecTable(
    [
        CodecRow(0x40, "HELLO", Hello, hello, DATAGRAM_BYTES_MAX),
        CodecRow(0x41, "LSA", Lsa, lsa, DATAGRAM_BYTES_MAX),
        CodecRow(0x42, "ADV", Adv, adv, DATAGRAM_BYTES_MAX),
        CodecRow(0x43, "SUMMARY", Summary, summary, DATAGRAM_BYTES_MAX),
        CodecRow(0x44, "PACKET", Packet, packet, DATAGRAM_BYTES_MAX),
        CodecRow(0x50, "SUB", Sub, sub, DATAGRAM_BYTES_MAX),
        CodecRow(0x51, "UNSUB", Unsub, unsub, DATAGRAM_BYTES_MAX),
        CodecRow(0x52, "PUB", Pub, pub, DATAGRAM_BYTES_MAX),
        CodecRow(0x53, "NOTIFY", Notify, notify, DATAGRAM_BYTES_MAX),
    ]
)
