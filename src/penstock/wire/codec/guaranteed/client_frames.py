"""The frames between clients and brokers, one row each. Their type codes are 0xA0 to 0xBF."""

from typing import Final

from penstock.wire.codec.codec_table import CodecRow, CodecTable
from penstock.wire.codec.guaranteed.acknowledgement import AckedCodec, ClientAckCodec
from penstock.wire.codec.guaranteed.client import (
    AnswerCodec,
    AskCodec,
    ClientPingCodec,
    ConnectCodec,
    CreditCodec,
    RefusedCodec,
    WelcomeCodec,
)
from penstock.wire.codec.guaranteed.poison import PoisonCodec
from penstock.wire.codec.guaranteed.publication import ConfirmCodec, PublishCodec
from penstock.wire.codec.guaranteed.receipt import PublishWithReceiptCodec, ReceiptCodec
from penstock.wire.codec.guaranteed.subscription import (
    AttachCodec,
    AttachedCodec,
    DetachCodec,
    FailCodec,
    ForgetCodec,
    GapNoticeCodec,
    HandOutCodec,
)
from penstock.wire.frames.guaranteed.acknowledgement import Acked, ClientAck
from penstock.wire.frames.guaranteed.base import ClientFrame
from penstock.wire.frames.guaranteed.client import (
    Answer,
    Ask,
    ClientPing,
    Connect,
    Credit,
    Refused,
    Welcome,
)
from penstock.wire.frames.guaranteed.poison import Poison
from penstock.wire.frames.guaranteed.publication import Confirm, Publish
from penstock.wire.frames.guaranteed.receipt import PublishWithReceipt, Receipt
from penstock.wire.frames.guaranteed.subscription import (
    Attach,
    Attached,
    Detach,
    Fail,
    Forget,
    GapNotice,
    HandOut,
)

CLIENT_FRAMES: Final[CodecTable[ClientFrame]] = CodecTable(
    [
        CodecRow(0xA0, "CONNECT", Connect, ConnectCodec, ConnectCodec.BYTES_MAX),
        CodecRow(0xA1, "WELCOME", Welcome, WelcomeCodec, WelcomeCodec.BYTES_MAX),
        CodecRow(0xA2, "PUBLISH", Publish, PublishCodec, PublishCodec.BYTES_MAX),
        CodecRow(0xA3, "CONFIRM", Confirm, ConfirmCodec, ConfirmCodec.BYTES_MAX),
        CodecRow(0xA4, "CREDIT", Credit, CreditCodec, CreditCodec.BYTES_MAX),
        CodecRow(0xA5, "ATTACH", Attach, AttachCodec, AttachCodec.BYTES_MAX),
        CodecRow(0xA6, "ATTACHED", Attached, AttachedCodec, AttachedCodec.BYTES_MAX),
        CodecRow(0xA7, "MESSAGES", HandOut, HandOutCodec, HandOutCodec.BYTES_MAX),
        CodecRow(0xA8, "GAP", GapNotice, GapNoticeCodec, GapNoticeCodec.BYTES_MAX),
        CodecRow(0xA9, "ACK", ClientAck, ClientAckCodec, ClientAckCodec.BYTES_MAX),
        CodecRow(0xAA, "ACKED", Acked, AckedCodec, AckedCodec.BYTES_MAX),
        CodecRow(0xAB, "FAIL", Fail, FailCodec, FailCodec.BYTES_MAX),
        CodecRow(0xAC, "DETACH", Detach, DetachCodec, DetachCodec.BYTES_MAX),
        CodecRow(0xAD, "FORGET", Forget, ForgetCodec, ForgetCodec.BYTES_MAX),
        CodecRow(0xAE, "REQUEST", Ask, AskCodec, AskCodec.BYTES_MAX),
        CodecRow(0xAF, "RESULT", Answer, AnswerCodec, AnswerCodec.BYTES_MAX),
        CodecRow(0xB0, "REFUSED", Refused, RefusedCodec, RefusedCodec.BYTES_MAX),
        CodecRow(0xB1, "PING", ClientPing, ClientPingCodec, ClientPingCodec.BYTES_MAX),
        CodecRow(0xB2, "POISON", Poison, PoisonCodec, PoisonCodec.BYTES_MAX),
        CodecRow(
            0xB3,
            "PUBLISH_WITH_RECEIPT",
            PublishWithReceipt,
            PublishWithReceiptCodec,
            PublishWithReceiptCodec.BYTES_MAX,
        ),
        CodecRow(0xB4, "RECEIPT", Receipt, ReceiptCodec, ReceiptCodec.BYTES_MAX),
    ]
)
