"""What it costs to write and read frames, against the same content in JSON."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import cycle
from random import Random
from typing import Any, Final

from bench.result import Case, Note, Result, seconds_per_call
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.content.value import Value
from penstock.kernel.seeds import Seeds
from penstock.transport.record.reader import MessageTags, tags_of
from penstock.wire import decode, encode, size_of
from penstock.wire.codec.record import EntryCodec, EntryDraft
from penstock.wire.frames.base import TrafficClass
from penstock.wire.frames.carried_frame import CarriedFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.packet import Packet, PacketId
from penstock.wire.frames.record import FingerprintEntry, PublicationRecord
from penstock.wire.quantise import quantise_rate

ATTRIBUTES: Final = 10
RECORD: Final = 5
CONSTANT: Final = 3
PAYLOAD_BYTES: Final = 100
STREAM: Final = 500

# Short calls are timed in many short rounds, so that one at least is quiet.
_timed = partial(seconds_per_call, rounds=20)


def run(note: Note) -> Result:
    """DATA of ten attributes with a record of five, its record entries, and a PACKET of it."""
    messages = _stream(Seeds(1).rng("wire"))
    encoder = Encoder(b"bench")
    tags = [tags_of(message, encoder) for message in messages]
    before = [EntryDraft(_entry(listing)) for listing in tags[:RECORD]]
    frame = _frame(messages[RECORD], _record(EntryCodec(*tags[RECORD]), before))
    note("DATA")
    written = encode(frame)
    encoding = _timed(lambda: encode(frame)) * 1e6
    decoding = _timed(lambda: decode(written)) * 1e6
    measuring = _timed(lambda: size_of(frame)) * 1e6
    cases = [
        Case("DATA", "encode", encoding, "µs", "<= 4"),
        Case("DATA", "decode", decoding, "µs", "<= 4"),
        Case("DATA", "size_of", measuring, "µs"),
        Case("DATA", "size", len(written), "bytes"),
    ]
    note("record entries")
    cases += _entries(tags)
    note("PACKET")
    cases += _packet(frame)
    note("the same in JSON")
    plain = _plain(frame)
    text = json.dumps(plain)
    ratios = {
        "json_encode/encode": _timed(lambda: json.dumps(plain)) * 1e6 / encoding,
        "json_decode/decode": _timed(lambda: json.loads(text)) * 1e6 / decoding,
        "json_size/size": len(text) / len(written),
    }
    return Result("wire", cases, ratios)


def _stream(rng: Random) -> list[Message]:
    """Messages of one kind; a few values stay the same, as a symbol or a place would."""
    constant = {f"attribute{i}": _value(rng, i) for i in range(CONSTANT)}
    return [
        Message(
            constant | {f"attribute{i}": _value(rng, i) for i in range(CONSTANT, ATTRIBUTES)},
            bytes(PAYLOAD_BYTES),
        )
        for _ in range(STREAM)
    ]


def _value(rng: Random, i: int) -> Value:
    number = rng.randrange(100_000)
    if i % 3 == 0:
        return number
    return number / 8 if i % 3 == 1 else f"value {number}"


def _entry(listing: MessageTags) -> FingerprintEntry:
    return FingerprintEntry(listing.presence, tuple(sorted(listing.values)))


def _record(codec: EntryCodec, before: list[EntryDraft]) -> PublicationRecord:
    return PublicationRecord.from_columns(
        range(100, 100 * len(before) + 1, 100),
        [draft.pack(codec, draft.value_set & codec.value_set) for draft in reversed(before)],
    )


def _frame(message: Message, record: PublicationRecord) -> Data:
    return Data(
        pub=2**63 + 12345,
        epoch=7,
        seq=1_000_000,
        send_ts_us=1_700_000_000_000,
        since_previous_100us=20,
        send_rate_mps=quantise_rate(440.0),
        max_round_trip_code=100,
        feedback_round=3,
        message=message,
        record=record,
    )


def _entries(tags: list[MessageTags]) -> list[Case]:
    codec, entry = EntryCodec(*tags[1]), _entry(tags[0])
    packed = codec.pack(entry)
    stranger = EntryCodec(entry.presence, tuple(range(ATTRIBUTES)))
    alone = sum(len(stranger.pack(_entry(other))) for other in tags) / len(tags)
    return [
        Case("record entry, none of 10 values shared", "mean size", alone, "bytes", "<= 23.5"),
        Case("record entry, 3 of 10 values shared", "size", len(packed), "bytes", "<= 23"),
        Case("record entry", "pack", _timed(lambda: codec.pack(entry)) * 1e6, "µs"),
        Case("record entry", "unpack", _timed(lambda: codec.unpack(packed)) * 1e6, "µs"),
        Case("record of 5 in a stream", "pack", _timed(_next_record(tags)) * 1e6, "µs"),
    ]


def _next_record(tags: list[MessageTags]) -> Callable[[], PublicationRecord]:
    turn = cycle([(listing, _entry(listing)) for listing in tags])
    before: deque[EntryDraft] = deque(maxlen=RECORD)

    def build() -> PublicationRecord:
        listing, entry = next(turn)
        record = _record(EntryCodec(*listing), list(before))
        before.append(EntryDraft(entry))
        return record

    return build


def _packet(frame: Data) -> list[Case]:
    packet = Packet(
        id=PacketId(1, 7, 1_000_000),
        traffic=TrafficClass.DATA,
        destinations=(3, 4, 9),
        carried=CarriedFrame(frame),
    )
    written = encode(packet)
    relayed = decode(written)
    return [
        Case("PACKET of it, 3 destinations", "decode", _timed(lambda: decode(written)) * 1e6, "µs"),
        Case("PACKET relayed", "encode", _timed(lambda: encode(relayed)) * 1e6, "µs"),
        Case("PACKET relayed", "size_of", _timed(lambda: size_of(relayed)) * 1e6, "µs"),
        Case("PACKET of it, 3 destinations", "size", len(written), "bytes"),
    ]


def _plain(frame: Data) -> dict[str, Any]:
    """The frame as one would write it in JSON without much thought."""
    return {
        "type": "data",
        "pub": frame.pub,
        "epoch": frame.epoch,
        "seq": frame.seq,
        "send_ts_us": frame.send_ts_us,
        "prev_delta_100us": frame.since_previous_100us,
        "send_rate_mps": frame.send_rate_mps,
        "r_max_code": frame.max_round_trip_code,
        "fb_round": frame.feedback_round,
        "record": [[entry.sent_before_100us, entry.packed.hex()] for entry in frame.record],
        "attributes": frame.message.attributes,
        "payload": frame.message.payload.hex(),
    }
