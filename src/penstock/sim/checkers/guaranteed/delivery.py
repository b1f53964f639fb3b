"""Confirmed means delivered: once, in order, to every subscription that wants it, or told as a gap.

Doubles are counted as they are promised: no life of a program gets a tick twice; what a program
that crashed had not acknowledged comes again to its next life. Where a durable subscription goes
on, everything before has been delivered: what came to no earlier life is lost.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from penstock.content.message import Message
from penstock.guaranteed.client import Opened, Received
from penstock.guaranteed.log_record import LogRecord
from penstock.kernel.instant import Instant
from penstock.sim.guaranteed.application import ReaderLife, ReadingProgram, Writer
from penstock.wire.codec.guaranteed.body import read_attributes_of
from penstock.wire.frames.guaranteed.base import GapReason
from penstock.wire.frames.guaranteed.subscription import Position


class Publication(NamedTuple):
    """A message that was confirmed, and when its program published it."""

    message: Message
    published_at: Instant


ByPosition: TypeAlias = Mapping[Position, Publication]


def broken_promises(
    writers: Iterable[Writer],
    readers: Iterable[ReadingProgram],
    kept: Mapping[int, Iterable[LogRecord]],
    *,
    lost: Collection[Position] = (),
    parked: Mapping[str, Collection[Position]] = MappingProxyType({}),
    forgotten_hosts: Collection[str] = (),
    may_give_up: bool = False,
) -> Iterator[str]:
    """All violations, one line each.

    `kept` has all records that were ever synced, by pubend; of those that were `lost` with a
    restored log nobody can promise anything. What was `parked`, by durable name, is dealt with. Of
    hosts that were forgotten streams may have given up messages, with a gap.
    """
    records = {
        Position(pubend, record.tick): record for pubend, log in kept.items() for record in log
    }
    confirmed: dict[Position, Publication] = {}
    for writer in writers:
        yield from (f"{writer.client.name}: {each}" for each in writer.contradictions)
        for id_, position in writer.confirmed.items():
            message = Message.trusted(writer.published[id_])
            if position in lost:
                continue
            confirmed[position] = Publication(message, writer.published_at[id_])
            if position not in records:
                yield f"{writer.client.name}: {id_} was confirmed at {position} and is on no disk"
            elif records[position].publication != id_:
                yield f"{writer.client.name}: {id_} was confirmed, {position} is another's"
    for reader in readers:
        # An expired name holds nothing, and its client may come back.
        is_held = bool(reader.durable) and not reader.expire_s
        holds = is_held and reader.client.broker not in forgotten_hosts
        for line in (
            *_wrong_order(reader),
            *_missing(reader, confirmed, parked.get(reader.durable, ())),
            *_unwanted(reader, records),
            *_forgotten(reader),
            *(() if may_give_up or not holds else _given_up(reader)),
        ):
            yield f"{reader.client.name}: {line}"


def stored_twice(kept: Mapping[int, Iterable[LogRecord]]) -> Iterator[str]:
    """Publications that are more than once in all logs together."""
    seen: dict[tuple[str, int], Position] = {}
    for pubend, log in kept.items():
        for record in log:
            key = (record.publisher, record.publication)
            position = Position(pubend, record.tick)
            if key in seen:
                yield f"{key} is stored at {seen[key]} and at {position}"
            seen[key] = position


def _wrong_order(reader: ReadingProgram) -> Iterator[str]:
    """Order and doubles within a life, gaps included."""
    for number, life in enumerate(reader.lives):
        next_tick: dict[int, int] = {}
        for item in life.items:
            start, stop = (
                (item.tick, item.tick + 1)
                if isinstance(item, Received)
                else (item.start, item.stop)
            )
            if start < next_tick.get(item.pubend, 0):
                yield f"life {number}: {start} out of order or twice"
            next_tick[item.pubend] = stop


def _forgotten(reader: ReadingProgram) -> Iterator[str]:
    """A name is there as long as it was not to expire."""
    if reader.durable and not reader.expire_s:
        opened = [life.opened for life in reader.lives if life.opened is not None]
        for before, behind in pairwise(opened):
            if behind is not before and not behind.resumed:
                yield "its name was forgotten"


def _missing(
    reader: ReadingProgram, confirmed: ByPosition, parked: Collection[Position]
) -> Iterator[str]:
    """What was confirmed, is wanted, and came to no life that it had to come to."""
    for lives in _by_name(reader):
        is_last = lives[-1] is reader.life
        yield from _missing_of(reader, lives, confirmed, parked, is_last=is_last)


def _by_name(reader: ReadingProgram) -> list[list[ReaderLife]]:
    """The lives in which the name was the same one: an expired name begins anew."""
    stretches: list[list[ReaderLife]] = [[]]
    before: Opened | None = None
    for life in reader.lives:
        opened = life.opened
        is_anew = opened is not None and before not in (None, opened) and not opened.resumed
        if reader.expire_s and is_anew:
            stretches.append([])
        stretches[-1].append(life)
        before = opened or before
    return stretches


def _missing_of(
    reader: ReadingProgram,
    lives: list[ReaderLife],
    confirmed: ByPosition,
    parked: Collection[Position],
    *,
    is_last: bool,
) -> Iterator[str]:
    opened = [at for at, life in enumerate(lives) if life.opened is not None]
    if not reader.durable:
        # Nobody promises what a program without a name missed between two lives.
        opened = [at for at in opened[-1:] if at == len(lives) - 1]
    got_ever = {Position(each.pubend, each.tick) for life in lives for each in life.received}
    # Nobody promises what the last life of a name that has expired would have got.
    ends_at = [*opened, len(lives)] if is_last else opened
    for at, behind in pairwise(ends_at):
        first = lives[at]
        ends = _positions(lives[behind]) if behind < len(lives) else {}
        seen = lives[at:behind] if not reader.durable else lives[:behind]
        got = {Position(each.pubend, each.tick) for life in seen for each in life.received}
        for position, publication in confirmed.items():
            # Of a pubend that the next life was not opened with: it may come in any later one.
            is_later = bool(ends) and position.pubend not in ends
            if is_later and (position in got_ever or not is_last):
                continue
            if position in parked:
                continue
            if position in got or position.tick > ends.get(position.pubend, position.tick):
                continue
            if not _is_due(first, position, publication, is_new=at == opened[0]):
                continue
            if reader.skipped_before is None or publication.published_at < reader.skipped_before:
                continue
            # Before a life hears that it is open, its host may pass silence under its filter.
            wanting = lives[at:] if is_later else lives[at : behind + 1]
            if not all(life.predicate.matches(publication.message) for life in wanting):
                continue
            told = lives if is_later else seen
            if not _is_in_gap(position, told) and not _is_deleted(position, lives):
                yield f"never got {position}: {publication}"


def _is_due(
    life: ReaderLife, position: Position, publication: Publication, *, is_new: bool
) -> bool:
    """Whether a message belongs to what a life was opened for."""
    if position.tick > _positions(life).get(position.pubend, position.tick):
        return True
    assert life.opened_at is not None
    return is_new and publication.published_at >= life.opened_at


def _positions(life: ReaderLife) -> dict[int, int]:
    assert life.opened is not None
    return dict(life.opened.positions)


def _is_in_gap(position: Position, lives: Iterable[ReaderLife]) -> bool:
    return any(
        gap.pubend == position.pubend and gap.start <= position.tick < gap.stop
        for life in lives
        for gap in life.missed
    )


def _is_deleted(position: Position, lives: Iterable[ReaderLife]) -> bool:
    """Whether the program has heard, in this life or later, that its stream is another one.

    While its host was away the stream may have been created and deleted several times: of pubends
    that it never saw, it can only be told by the end of one that it did.
    """
    known = {pubend for life in lives if life.opened for pubend in _positions(life)}
    known |= {each.pubend for life in lives for each in life.received}
    return any(
        gap.start <= position.tick
        if gap.pubend == position.pubend
        else position.pubend not in known
        for life in lives
        for gap in life.missed
        if gap.reason is GapReason.RECREATED
    )


def _given_up(reader: ReadingProgram) -> Iterator[str]:
    """Nothing that a durable subscription waits for is given up, unless a stream may drop.

    A stream that was created again holds nothing for a host that has yet to hear of it: what is
    gone by then is a gap that begins with its first tick.
    """
    has_another = False
    for number, life in enumerate(reader.lives):
        for gap in life.missed:
            has_another = has_another or gap.reason is GapReason.RECREATED
            if gap.reason in (GapReason.RECREATED, GapReason.ROLLED_BACK):
                continue
            if has_another and gap.start == 1:
                continue
            yield f"life {number} was told of a gap from {gap.start} to {gap.stop}"


def _unwanted(reader: ReadingProgram, records: Mapping[Position, LogRecord]) -> Iterator[str]:
    """What came and is not wanted, or was never stored."""
    for life in reader.lives:
        for message in life.received:
            if Position(message.pubend, message.tick) not in records:
                yield f"got {message.tick}, which no disk has"
            elif not life.predicate.matches(Message.trusted(read_attributes_of(message.body))):
                yield f"got {message.tick}, which it does not want"
