import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.bloom import BloomParams
from penstock.content.message import Message
from penstock.content.tags import Encoder, presence_tag
from penstock.content.value import Value
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Instant
from penstock.kernel.seeds import Seeds
from penstock.transport.publish.record_writer import RecordWriter
from penstock.transport.record.reader import CarriedEntryReader
from penstock.transport.settings import RecordSettings
from penstock.wire.codec.record import SHARES_VALUES
from penstock.wire.frames.record import EMPTY_RECORD, FingerprintEntry, PublicationRecord
from penstock.wire.quantise import delta_100us
from tests.content.strategies import messages

ENCODER = Encoder(b"salt")


def opened(
    record: PublicationRecord, carrier: Message, encoder: Encoder = ENCODER
) -> list[FingerprintEntry]:
    """What a receiver reads."""
    found = []
    for i in range(len(record)):
        entry = CarriedEntryReader(carrier, encoder).read(record.packed(i))
        assert entry is not None
        found.append(entry)
    return found


def sent(message: Message, encoder: Encoder = ENCODER) -> FingerprintEntry:
    """What there is to say of a message."""
    return FingerprintEntry(*encoder.message_fingerprints(message))


def test_the_newest_message_comes_first_and_the_oldest_is_forgotten() -> None:
    keeper = RecordWriter(RecordSettings(size=3), ENCODER)
    stream = [Message({"a": i, "b": i % 2}) for i in range(6)]
    for i, message in enumerate(stream):
        record = keeper.append(message, i * MILLISECOND)
        before = stream[max(0, i - 3) : i][::-1]
        assert opened(record, message) == [sent(m) for m in before]
        assert [record.sent_before_100us(j) for j in range(len(record))] == [10, 20, 30][
            : len(before)
        ]


@given(st.lists(messages(max_attributes=4), max_size=8))
def test_any_stream_is_told_as_it_was(stream: list[Message]) -> None:
    keeper = RecordWriter(RecordSettings(size=5), ENCODER)
    for i, message in enumerate(stream):
        record = keeper.append(message, i)
        assert opened(record, message) == [sent(m) for m in stream[max(0, i - 5) : i][::-1]]


@given(st.lists(st.integers(0, 2**44), min_size=1, max_size=12))
def test_departures_are_rounded_as_everywhere(stamps: list[Instant]) -> None:
    keeper = RecordWriter(RecordSettings(size=20), ENCODER)
    for stamp in stamps[:-1]:
        keeper.append(Message({}), stamp)
    record = keeper.append(Message({}), stamps[-1])
    whole = [stamp // MICROSECOND * MICROSECOND for stamp in stamps]
    assert [record.sent_before_100us(i) for i in range(len(record))] == [
        delta_100us(whole[-1] - stamp) for stamp in whole[-2::-1]
    ]


def test_an_adaptive_record_reaches_back_so_far_and_no_further_than_its_size() -> None:
    keeper = RecordWriter(RecordSettings(size=8, cover_ns=10 * MILLISECOND), ENCODER)
    counts = []
    now = 0
    for gap_ms in [0, 1, 1, 1, 4, 4, 4, 20, 1, *[0] * 12]:
        now += gap_ms * MILLISECOND
        counts.append(len(keeper.append(Message({"a": now}), now)))
    assert counts[:9] == [0, 1, 2, 3, 4, 4, 2, 0, 1]
    assert counts[9:] == [2, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8, 8]


def test_a_record_of_no_size_is_empty() -> None:
    keeper = RecordWriter(RecordSettings(size=0), ENCODER)
    for i in range(3):
        assert keeper.append(Message({"a": 1}), i * SECOND) is EMPTY_RECORD


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (101.5, 101.5),
        (7, 7.0),
        (119.999, 120.0),
        (10**12, math.inf),
        (-(2**63), -math.inf),
        (True, None),
        ("7", None),
        (math.nan, None),
    ],
)
def test_numbers_travel_for_the_attributes_chosen(value: Value, number: float | None) -> None:
    keeper = RecordWriter(RecordSettings(numbers=("x", "z")), ENCODER)
    keeper.append(Message({"x": value, "y": 5}), 0)
    carrier = Message({"x": 1, "y": 5})
    (entry,) = opened(keeper.append(carrier, SECOND), carrier)
    presence = ENCODER.fingerprint(presence_tag("x"))
    assert entry.numeric_values == (() if number is None else ((presence, number),))


def test_one_name_is_not_taken_for_its_letters() -> None:
    with pytest.raises(UsageError, match=r'write \("price",\)'):
        RecordSettings(numbers="price")  # type: ignore[arg-type]


def test_sets_travel_if_that_is_chosen() -> None:
    bloom = BloomParams(128, 3)
    keeper = RecordWriter(RecordSettings(size=2, bloom=bloom), ENCODER)
    stream = [Message({"a": i}) for i in range(4)]
    for i, message in enumerate(stream):
        record = keeper.append(message, i * SECOND)
    expected = [sent(message) for message in (stream[2], stream[1])]
    assert [entry.packed for entry in record] == [
        bloom.bits_of_fingerprints(e.presence + e.values).to_bytes(16, "big") for e in expected
    ]


def test_names_and_numbers_that_collide_tell_no_number() -> None:
    encoder = Encoder(b"salt", fingerprint_bits=8)
    one, *others = [f"n{i}" for i in range(1_000)]
    twin = next(
        name
        for name in others
        if encoder.fingerprint(presence_tag(name)) == encoder.fingerprint(presence_tag(one))
    )
    keeper = RecordWriter(RecordSettings(numbers=(one, twin)), encoder)
    keeper.append(Message({one: 1, twin: 2}), 0)
    keeper.append(Message({one: 1}), 0)
    record = keeper.append(Message({"a": 1}), 0)
    alone, both = opened(record, Message({"a": 1}), encoder)
    assert (len(alone.numeric_values), both.numeric_values) == (1, ())


def test_an_entry_that_would_be_mistaken_is_spelt_out() -> None:
    encoder = Encoder(b"salt", fingerprint_bits=8)
    rng = Seeds(1).rng("record", "mistaken")
    keeper = RecordWriter(RecordSettings(size=1), encoder)
    before = Message({})
    mistakable = 0
    for i in range(1_000):
        message = Message({name: rng.randrange(5) for name in "abcd"})
        record = keeper.append(message, i * SECOND)
        theirs = encoder.message_fingerprints(message).values
        for name, value in before.attributes.items():
            (own,) = encoder.message_fingerprints(Message({name: value})).values
            if own in theirs and message.attributes[name] != value:
                assert not record.packed(0)[0] & SHARES_VALUES
                mistakable += 1
        assert opened(record, message, encoder) == [sent(before, encoder)] * len(record)
        before = message
    assert mistakable > 20


def test_nan_is_the_same_as_nan() -> None:
    keeper = RecordWriter(RecordSettings(), ENCODER)
    keeper.append(Message({"x": float("nan"), "y": 1}), 0)
    carrier = Message({"x": float("nan"), "y": 2})
    assert opened(keeper.append(carrier, 0), carrier) == [sent(Message({"x": math.nan, "y": 1}))]
