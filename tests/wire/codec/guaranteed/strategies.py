"""Hypothesis strategies, one per frame; `STRATEGIES` is what new frames must be added to."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from penstock.wire.frames.guaranteed.acknowledgement import Acked, ClientAck
from penstock.wire.frames.guaranteed.base import (
    STOP_MAX,
    TICK_MAX,
    GapReason,
    ReaderId,
    Serial,
    Start,
    StartKind,
    TickRange,
)
from penstock.wire.frames.guaranteed.client import (
    Answer,
    Ask,
    ClientPing,
    Connect,
    Credit,
    CreditKind,
    Refused,
    RefusedKind,
    Welcome,
)
from penstock.wire.frames.guaranteed.congestion import (
    CongestionAlert,
    CongestionQuery,
    CongestionReport,
    Live,
    Progress,
)
from penstock.wire.frames.guaranteed.hello import Announcement, Hello, Ping, Role
from penstock.wire.frames.guaranteed.knowledge import Data, Gap, Horizon, Silence
from penstock.wire.frames.guaranteed.lag import LagAnswer, LagRequest
from penstock.wire.frames.guaranteed.poison import Poison
from penstock.wire.frames.guaranteed.publication import Confirm, Publish, StoredRun
from penstock.wire.frames.guaranteed.receipt import PublishWithReceipt, Receipt
from penstock.wire.frames.guaranteed.requests import (
    FilterAck,
    FilterRequest,
    Nack,
    ReaderRequest,
)
from penstock.wire.frames.guaranteed.rows import Ack, Held, Hold, HostAck
from penstock.wire.frames.guaranteed.subscription import (
    Attach,
    Attached,
    AttachFlags,
    Detach,
    Fail,
    Forget,
    GapNotice,
    HandOut,
    Position,
)
from tests.content.strategies import predicates
from tests.wire.strategies import unsigned

TICKS = st.sampled_from([0, 1, TICK_MAX]) | st.integers(0, TICK_MAX)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=16)
NAMES = TEXTS.filter(bool) | st.sampled_from(["x", "é" * 32, "n" * 64])
READERS = st.builds(ReaderId, NAMES, unsigned(32))
SERIALS = st.builds(Serial, unsigned(64), unsigned(32))
STARTS = st.one_of(
    st.sampled_from([Start(StartKind.FIRST), Start(StartKind.NOW)]),
    st.builds(Start, st.just(StartKind.TICK), TICKS),
    st.builds(Start, st.just(StartKind.TIME), unsigned(64)),
)
RATES = st.floats(min_value=0, allow_nan=False)
POSITIONS = st.lists(st.builds(Position, unsigned(64), TICKS), max_size=5).map(tuple)
BODIES = st.binary(max_size=80)
PREDICATES = predicates(max_filters=3, max_constraints=3)


@st.composite
def ranges(draw: st.DrawFn) -> TickRange:
    """Ranges of ticks, the longest and the shortest included."""
    start = draw(TICKS)
    return TickRange(start, draw(st.sampled_from([start + 1, STOP_MAX]) | _above(start)))


@st.composite
def progresses(draw: st.DrawFn) -> Progress:
    """What hosts say of themselves; they may have got nowhere."""
    start, stop = draw(ranges())
    return Progress(
        host=draw(NAMES),
        start=start,
        stop=draw(st.sampled_from([start, stop])),
        elapsed_ns=draw(unsigned(64)),
        over_lag_ns=draw(unsigned(64)),
    )


def _above(start: int) -> st.SearchStrategy[int]:
    return st.integers(start + 1, STOP_MAX)


@st.composite
def data_frames(draw: st.DrawFn) -> Data:
    """DATA."""
    start, stop = draw(ranges())
    return Data(
        pubend=draw(unsigned(64)),
        start=start,
        tick=stop - 1,
        published_ns=draw(unsigned(64)),
        body=draw(BODIES),
        reader=draw(st.none() | READERS),
    )


def silences() -> st.SearchStrategy[Silence]:
    """SILENCE."""
    return st.builds(
        lambda covered, **fields: Silence(start=covered.start, stop=covered.stop, **fields),
        ranges(),
        pubend=unsigned(64),
        reader=st.none() | READERS,
    )


def gaps() -> st.SearchStrategy[Gap]:
    """GAP."""
    return st.builds(
        lambda covered, **fields: Gap(start=covered.start, stop=covered.stop, **fields),
        ranges(),
        pubend=unsigned(64),
        reason=st.sampled_from(GapReason),
        messages=unsigned(64),
        reader=st.none() | READERS,
    )


def gap_notices() -> st.SearchStrategy[GapNotice]:
    """GAP to a client."""
    return st.builds(
        lambda covered, **fields: GapNotice(start=covered.start, stop=covered.stop, **fields),
        ranges(),
        subscription=unsigned(32),
        pubend=unsigned(64),
        reason=st.sampled_from(GapReason),
        messages=unsigned(64),
    )


def hellos() -> st.SearchStrategy[Hello]:
    """HELLO."""
    announcement = st.builds(
        Announcement,
        pubend=unsigned(64),
        stream=NAMES,
        distance=unsigned(8),
        lease=TICKS,
        dead_ranges=st.lists(ranges(), max_size=3).map(tuple),
        address=TEXTS,
    )
    return st.builds(
        Hello,
        broker=NAMES,
        life=unsigned(64),
        roles=st.integers(0, 15).map(Role),
        token=unsigned(64),
        pubends=st.lists(announcement, max_size=3).map(tuple),
    )


@st.composite
def publishes(draw: st.DrawFn, kind: type[Publish]) -> Publish:
    """PUBLISH, with a receipt or without."""
    messages = draw(st.lists(st.tuples(unsigned(64), BODIES), min_size=1, max_size=4))
    ids, bodies = zip(*messages, strict=True)
    return kind(stream=draw(NAMES), ids=ids, bodies=bodies)


@st.composite
def stored_runs(draw: st.DrawFn) -> StoredRun:
    """One run, the longest included."""
    first_id, first_tick = draw(unsigned(64)), draw(TICKS)
    longest = min(600, 2**64 - first_id, TICK_MAX + 1 - first_tick) if first_tick else 1
    messages = draw(st.integers(1, longest))
    return StoredRun(first_id, messages, draw(unsigned(64)), first_tick, draw(st.booleans()))


def confirms(kind: type[Confirm]) -> st.SearchStrategy[Confirm]:
    """CONFIRM or RECEIPT."""
    return st.builds(
        lambda stream, runs: kind(stream=stream, runs=tuple(runs)),
        NAMES,
        st.lists(stored_runs(), max_size=6),
    )


@st.composite
def hand_outs(draw: st.DrawFn) -> HandOut:
    """MESSAGES."""
    messages = draw(
        st.lists(
            st.tuples(TICKS, unsigned(64), BODIES),
            min_size=1,
            max_size=4,
            unique_by=lambda message: message[0],
        )
    )
    ticks, published_ns, bodies = zip(*sorted(messages), strict=True)
    return HandOut(
        subscription=draw(unsigned(32)),
        pubend=draw(unsigned(64)),
        attempt=draw(unsigned(32)),
        ticks=ticks,
        published_ns=published_ns,
        bodies=bodies,
    )


def attaches() -> st.SearchStrategy[Attach]:
    """ATTACH."""
    return st.builds(
        Attach,
        subscription=unsigned(32),
        durable=st.just("") | NAMES,
        streams=st.lists(NAMES, max_size=3).map(tuple),
        predicate=PREDICATES,
        start=STARTS,
        flags=st.integers(0, 7).map(AttachFlags),
        attempts_max=unsigned(32),
        expire_s=unsigned(32),
        positions=POSITIONS,
    )


STRATEGIES: dict[type, st.SearchStrategy[Any]] = {
    Hello: hellos(),
    Ping: st.just(Ping()),
    Data: data_frames(),
    Silence: silences(),
    Gap: gaps(),
    Horizon: st.builds(Horizon, pubend=unsigned(64), stop=unsigned(64)),
    Nack: st.builds(
        Nack,
        pubend=unsigned(64),
        ranges=st.lists(ranges(), max_size=6).map(tuple),
        reader=st.none() | READERS,
    ),
    Hold: st.builds(
        Hold,
        pubend=unsigned(64),
        host=NAMES,
        serial=SERIALS,
        durable=st.just("") | NAMES,
        start=STARTS,
        keep=st.booleans(),
    ),
    Held: st.builds(
        Held,
        pubend=unsigned(64),
        host=NAMES,
        serial=SERIALS,
        tick=TICKS,
        other_host=st.just("") | NAMES,
    ),
    LagRequest: st.builds(LagRequest, pubend=unsigned(64), host=NAMES, serial=SERIALS, tick=TICKS),
    Live: st.builds(Live, pubend=unsigned(64), is_on=st.booleans()),
    CongestionQuery: st.builds(
        CongestionQuery, pubend=unsigned(64), seq=unsigned(64), newest=TICKS
    ),
    CongestionAlert: st.builds(
        CongestionAlert,
        pubend=unsigned(64),
        seq=unsigned(64),
        normal_rate=RATES,
        recovering_rate=RATES,
        position=TICKS,
    ),
    CongestionReport: st.builds(
        CongestionReport,
        pubend=unsigned(64),
        seq=unsigned(64),
        normal=st.none() | progresses(),
        recovering=st.none() | progresses(),
    ),
    LagAnswer: st.builds(
        LagAnswer,
        pubend=unsigned(64),
        host=NAMES,
        serial=SERIALS,
        messages=unsigned(64),
        size_bytes=unsigned(64),
        limit_bytes=unsigned(64),
        age_us=unsigned(64),
        is_upper_bound=st.booleans(),
    ),
    Ack: st.builds(
        Ack,
        pubend=unsigned(64),
        entries=st.lists(st.builds(HostAck, NAMES, SERIALS, unsigned(64)), max_size=4).map(tuple),
    ),
    FilterRequest: st.builds(
        FilterRequest, pubend=unsigned(64), epoch=unsigned(64), predicate=PREDICATES
    ),
    FilterAck: st.builds(FilterAck, pubend=unsigned(64), epoch=unsigned(64), tick=TICKS),
    ReaderRequest: st.builds(
        ReaderRequest, pubend=unsigned(64), reader=READERS, predicate=st.none() | PREDICATES
    ),
    Connect: st.builds(Connect, publisher=NAMES, life=unsigned(64)),
    Welcome: st.builds(Welcome, broker=NAMES, message_bytes_max=unsigned(32)),
    Publish: publishes(Publish),
    Confirm: confirms(Confirm),
    Credit: st.builds(
        Credit,
        kind=st.sampled_from(CreditKind),
        number=unsigned(32),
        messages=unsigned(32),
        size_bytes=unsigned(64),
    ),
    Attach: attaches(),
    Attached: st.builds(
        Attached, subscription=unsigned(32), resumed=st.booleans(), positions=POSITIONS
    ),
    HandOut: hand_outs(),
    GapNotice: gap_notices(),
    ClientAck: st.builds(
        ClientAck, subscription=unsigned(32), positions=POSITIONS, is_awaited=st.booleans()
    ),
    Acked: st.builds(Acked, subscription=unsigned(32), positions=POSITIONS),
    Fail: st.builds(Fail, subscription=unsigned(32), pubend=unsigned(64), tick=TICKS, reason=TEXTS),
    Detach: st.builds(Detach, subscription=unsigned(32), is_clean=st.booleans()),
    Forget: st.builds(Forget, durable=NAMES),
    Ask: st.builds(Ask, number=unsigned(32), verb=NAMES, arguments=BODIES),
    Answer: st.builds(Answer, number=unsigned(32), result=BODIES),
    Refused: st.builds(
        Refused,
        kind=st.sampled_from(RefusedKind),
        number=unsigned(64),
        reason=NAMES,
        text=TEXTS,
        address=TEXTS,
    ),
    ClientPing: st.just(ClientPing()),
    Poison: st.builds(
        Poison,
        subscription=unsigned(32),
        pubend=unsigned(64),
        tick=TICKS,
        published_ns=unsigned(64),
        attempts=unsigned(32),
        reasons=st.lists(TEXTS, max_size=4).map(tuple),
        body=BODIES,
    ),
    PublishWithReceipt: publishes(PublishWithReceipt),
    Receipt: confirms(Receipt),
}
