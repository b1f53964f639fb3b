from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.content.bloom import BloomParams, subset
from penstock.content.constraint import Op
from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.content.schema import Encoding, Schema
from penstock.content.syntax import parse
from penstock.content.tags import Encoder, is_exactly_encodable
from penstock.kernel.instant import MILLISECOND, Duration
from penstock.kernel.seeds import Seeds
from penstock.sim.topic_workload import TopicWorkload
from penstock.transport.publish.record_writer import RecordWriter
from penstock.transport.record.entry_match import CERTAIN, NO_MATCH, compile_entry_test
from penstock.transport.record.matcher import RecordMatch, RecordMatcher
from penstock.transport.record.reader import CarriedEntryReader
from penstock.transport.settings import RecordSettings
from penstock.wire.frames.data import Data
from penstock.wire.frames.record import BloomEntry, FingerprintEntry, PublicationRecord, RecordEntry
from tests.content.strategies import NAMES, messages, messages_near, predicates
from tests.frames import data

SPACING: Duration = 2 * MILLISECOND
SCHEMA = Schema(
    {
        "price": Encoding(width=0.5, levels=3),
        "symbol": Encoding(prefixes=(1, 2), suffixes=(1,)),
    }
)

# Scenes take some drawing.
SLOW = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def frame_of(
    past: list[Message], carrier: Message, encoder: Encoder, told: RecordSettings | None = None
) -> Data:
    """The frame of a message that follows others."""
    keeper = RecordWriter(told or RecordSettings(size=25), encoder)
    for i, message in enumerate(past):
        keeper.append(message, i * SPACING)
    record = keeper.append(carrier, len(past) * SPACING)
    return data(
        len(past),
        {},
        since_previous_100us=20,
        message=carrier,
        record=record,
        has_bloom_entries=told is not None and told.bloom is not None,
    )


def backs(glimpses: list[RecordMatch]) -> list[int]:
    """Which numbers are revealed."""
    return [glimpse.offset for glimpse in glimpses]


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Predicate, list[Message], Message]:
    """A predicate, some messages that it may match, and one more to carry their record."""
    predicate = draw(predicates(max_filters=3, max_constraints=3))
    near = messages_near(predicate)
    kinds = st.one_of(near, near, messages(max_attributes=3))
    past = draw(st.lists(kinds, min_size=1, max_size=3))
    carrier = draw(st.one_of(kinds, st.sampled_from(past)))
    # As most publishers do: the same names again, some of the values changed.
    for _ in range(draw(st.integers(0, 2))):
        other = draw(st.sampled_from(past))
        past.append(
            Message(
                {
                    name: other.attributes.get(name, value) if draw(st.booleans()) else value
                    for name, value in carrier.attributes.items()
                }
            )
        )
    return predicate, past, carrier


@SLOW
@given(scenes(), st.sampled_from([Schema(), SCHEMA]), st.booleans())
@pytest.mark.spec("F17")
def test_what_matches_is_revealed_and_what_is_certain_matches(
    scene: tuple[Predicate, list[Message], Message], schema: Schema, has_numbers: bool
) -> None:
    predicate, past, carrier = scene
    # So long that none collide.
    encoder = Encoder(b"salt", schema, fingerprint_bits=64)
    numbers = NAMES if has_numbers else ()
    frame = frame_of(past, carrier, encoder, RecordSettings(size=25, numbers=numbers))
    interest = RecordMatcher(predicate, encoder)
    glimpses = interest.match_record(frame, 25)
    matching = {
        back for back, message in enumerate(reversed(past), 1) if predicate.matches(message)
    }
    assert backs(glimpses) == sorted(backs(glimpses))
    assert matching <= set(backs(glimpses))
    assert {glimpse.offset for glimpse in glimpses if glimpse.is_certain} <= matching
    if all(is_exactly_encodable(f, schema) for f in predicate.filters):
        assert [(g.offset, g.is_certain) for g in glimpses] == [(b, True) for b in sorted(matching)]
    assert interest.malformed == 0
    for glimpse in glimpses:
        assert isinstance(glimpse.entry, FingerprintEntry)
        told = encoder.message_fingerprints(past[-glimpse.offset])
        assert (glimpse.entry.presence, glimpse.entry.values) == told
        assert glimpse.sent_before_ns == glimpse.offset * SPACING


@SLOW
@given(scenes(), st.sampled_from([8, 9, 16]))
def test_collisions_hide_nothing_that_matches(
    scene: tuple[Predicate, list[Message], Message], width_bits: int
) -> None:
    predicate, past, carrier = scene
    # Of these a tag that should not be there says no, and so may one that collides with it.
    plain = [f for f in predicate.filters if not {c.op for c in f.constraints} & {Op.NE, Op.ABSENT}]
    encoder = Encoder(b"salt", SCHEMA, fingerprint_bits=width_bits)
    frame = frame_of(past, carrier, encoder)
    revealed = backs(RecordMatcher(Predicate(plain), encoder).match_record(frame, 25))
    for back, message in enumerate(reversed(past), 1):
        if Predicate(plain).matches(message) and frame.record.packed(back - 1):
            assert back in revealed


@SLOW
@given(scenes(), st.sampled_from([8, 12, 20, 24, 64]), st.data())
def test_any_bytes_are_read_as_one_who_opens_every_entry_would(
    scene: tuple[Predicate, list[Message], Message], width_bits: int, data: st.DataObject
) -> None:
    predicate, past, carrier = scene
    encoder = Encoder(b"salt", fingerprint_bits=width_bits)
    frame = frame_of(past, carrier, encoder)
    entries = list(frame.record)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(entries) - 1))
        damaged = bytearray(entries[at].packed)
        if damaged:
            damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= data.draw(st.integers(1, 255))
        entries[at] = RecordEntry(0, data.draw(st.sampled_from([bytes(damaged), b"", b"\2"])))
    frame = msgspec.structs.replace(frame, record=PublicationRecord.of(entries))
    interest = RecordMatcher(predicate, encoder)
    revealed = {g.offset: g for g in interest.match_record(frame, 25)}
    questions = [compile_entry_test(f, encoder) for f in predicate.filters]
    for back, entry in enumerate(entries, 1):
        opened = CarriedEntryReader(carrier, encoder).read(entry.packed)
        if opened is None:
            # Nobody need have read as far as where it is malformed.
            assert entry.packed or back not in revealed
            continue
        answer = max([q.test(opened) for q in questions if q is not None], default=NO_MATCH)
        if back in revealed:
            assert revealed[back].entry == opened
            assert revealed[back].is_certain is (answer == CERTAIN)
        elif width_bits == 64:
            assert answer == NO_MATCH


def test_only_the_newest_that_are_asked_for_are_looked_at() -> None:
    encoder = Encoder(b"salt")
    past = [Message({"topic": i % 2}) for i in range(10)]
    frame = frame_of(past, Message({"topic": 0}), encoder)
    interest = RecordMatcher(parse("topic = 0"), encoder)
    assert interest.match_record(frame, 0) == []
    assert backs(interest.match_record(frame, 5)) == [2, 4]
    assert backs(interest.match_record(frame, 25)) == [2, 4, 6, 8, 10]
    # What was told of the same message already is told again.
    assert backs(interest.match_record(frame, 5)) == [2, 4, 6, 8, 10]
    assert interest.match_record(frame_of([], Message({}), encoder), 25) == []


@pytest.mark.parametrize("attributes", [2, 7, 12, 30])
def test_a_shared_value_is_found_wherever_its_place_is(attributes: int) -> None:
    encoder = Encoder(b"salt")
    names = [f"a{i}" for i in range(attributes)]
    past = [Message(dict.fromkeys(names, i)) for i in range(5)]
    for name in names:
        # All values are new but one.
        carrier = Message({other: 3 if other == name else 99 for other in names})
        for text in (f"{name} = 3", f"{name} in (3, 77)"):
            (glimpse,) = RecordMatcher(parse(text), encoder).match_record(
                frame_of(past, carrier, encoder), 25
            )
            assert (glimpse.offset, glimpse.is_certain) == (2, True)


@pytest.mark.parametrize("filters", [1, 3, 4, 40, 60])
def test_a_market_is_watched_closely(filters: int) -> None:
    market = TopicWorkload(hot=30, cold=100)
    rng = Seeds(1).rng("interest", str(filters))
    encoder = Encoder(b"salt")
    past = [market.message(rng) for _ in range(400)]
    keeper = RecordWriter(RecordSettings(size=25), encoder)
    topics = rng.sample(range(130), filters)
    predicate = parse(" or ".join(f'topic = "t{topic}"' for topic in topics))
    interest = RecordMatcher(predicate, encoder)
    found = 0
    collided = set()
    for i, message in enumerate(past):
        record = keeper.append(message, i * SPACING)
        frame = msgspec.structs.replace(
            frame_of([], message, encoder), record=record, message=message
        )
        before = past[max(0, i - 25) : i][::-1]
        revealed = backs(interest.match_record(frame, 25))
        for back, earlier in enumerate(before, 1):
            if predicate.matches(earlier):
                assert back in revealed
                found += 1
            elif back in revealed:
                collided.add(i - back)
    assert found > 20
    # Of 4000 values hardly one has one of these few fingerprints by chance.
    assert len(collided) <= 1


def test_several_equalities_must_all_hold() -> None:
    encoder = Encoder(b"salt")
    past = [Message({"a": a, "b": b, "c": 0}) for a in range(3) for b in range(3)]
    frame = frame_of(past, Message({"a": 1, "b": 9, "c": 1}), encoder)
    interest = RecordMatcher(
        parse("a = 1 and b = 2 or a = 2 and b in (0, 1) or a = 0 and d = 1"), encoder
    )
    glimpses = interest.match_record(frame, 25)
    assert [(g.offset, g.is_certain) for g in glimpses] == [(2, True), (3, True), (4, True)]


def test_one_certain_match_is_enough() -> None:
    encoder = Encoder(b"salt")
    past = [Message({"a": 1, "b": 5}), Message({"a": 2, "b": 5})]
    frame = frame_of(past, Message({"a": 3, "b": 6}), encoder)
    glimpses = RecordMatcher(parse("a = 1 or b > 3"), encoder).match_record(frame, 25)
    assert [(g.offset, g.is_certain) for g in glimpses] == [(1, False), (2, True)]


def test_what_nothing_can_match_reveals_nothing() -> None:
    encoder = Encoder(b"salt")
    frame = frame_of([Message({"a": 1})] * 3, Message({"a": 1}), encoder)
    assert RecordMatcher(parse("a = 1 and a = 2"), encoder).match_record(frame, 25) == []
    assert RecordMatcher(Predicate([]), encoder).match_record(frame, 25) == []
    assert backs(RecordMatcher(Predicate([Filter()]), encoder).match_record(frame, 25)) == [1, 2, 3]


def test_malformed_entries_are_counted_and_tell_nothing() -> None:
    encoder = Encoder(b"salt")
    frame = frame_of([], Message({"a": 1}), encoder)
    # One says that it has a map, which is empty; the other is cut short.
    record = PublicationRecord.from_columns([1, 2], [b"\2\0\0", b"\0"])
    frame = msgspec.structs.replace(frame, record=record)
    interest = RecordMatcher(parse("exists a"), encoder)
    assert interest.match_record(frame, 25) == []
    assert interest.malformed == 2


def test_by_bloom_sets_everything_within_is_certain() -> None:
    rng = Seeds(1).rng("interest", "bloom")
    bloom = BloomParams(64, 2)
    encoder = Encoder(b"salt")
    past = [Message({f"a{i}": rng.randrange(9) for i in range(5)}) for _ in range(60)]
    (wanted,) = parse("a0 = 3 and a1 > 2").filters
    prints = encoder.filter_fingerprints(wanted)
    wanted_bits = bloom.bits_of_fingerprints(prints.presence + prints.values)
    expected = []
    for back, message in enumerate(reversed(past), 1):
        own = encoder.message_fingerprints(message)
        if subset(wanted_bits, bloom.bits_of_fingerprints(own.presence + own.values)):
            expected.append((back, True))
    assert any(not wanted.matches(past[-back]) for back, _ in expected)
    carrier = Message({f"a{i}": 1 for i in range(5)})
    for told in (RecordSettings(size=60), RecordSettings(size=60, bloom=bloom)):
        frame = frame_of(past, carrier, encoder, told)
        interest = RecordMatcher(Predicate([wanted]), encoder, bloom)
        assert [(g.offset, g.is_certain) for g in interest.match_record(frame, 60)] == expected


def test_literal_sets_are_read_when_they_have_the_size_expected() -> None:
    encoder = Encoder(b"salt", params=BloomParams(256, 5))
    past = [Message({"a": i}) for i in range(4)]
    own = frame_of(past, Message({"a": 9}), encoder, RecordSettings(bloom=BloomParams(256, 5)))
    (glimpse,) = RecordMatcher(parse("a = 2"), encoder).match_record(own, 25)
    assert glimpse.offset == 2
    assert glimpse.entry == BloomEntry(encoder.message_bits(past[2]), 32)
    other = frame_of(past, Message({"a": 9}), encoder, RecordSettings(bloom=BloomParams(128, 3)))
    assert RecordMatcher(parse("a = 2"), encoder).match_record(other, 25) == []
    assert RecordMatcher(parse("a = 2"), encoder, BloomParams(128, 3)).match_record(other, 25) != []
