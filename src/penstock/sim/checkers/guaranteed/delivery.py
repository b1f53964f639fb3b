"""Confirmed means delivered: once, in order, to every durable subscription that wants it, or told
as a gap.

Doubles are counted as they are promised: no life of a program gets a tick twice, and what a host
has stored as acknowledged never comes again; what a program that crashed had not acknowledged does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from penstock.content.message import Message
from penstock.content.value import Value
from penstock.guaranteed.log_record import LogRecord
from penstock.sim.guaranteed.application import ReaderLife, ReadingProgram, Writer
from penstock.sim.guaranteed.disk import SimDisk
from penstock.wire.codec.guaranteed.body import read_attributes_of


def broken_promises(
    writers: Iterable[Writer], readers: Iterable[ReadingProgram], kept: Iterable[LogRecord]
) -> list[str]:
    """All violations, one line each; `kept` are all records that were ever synced."""
    records = {record.tick: record for record in kept}
    confirmed = {
        position.tick: attributes
        for writer in writers
        for id_, position in writer.confirmed.items()
        for attributes in [writer.published[id_]]
        if position.tick
    }
    wrong = [
        f"tick {tick} was confirmed and is on no disk" for tick in confirmed if tick not in records
    ]
    for reader in readers:
        wrong += _wrong_lives(reader)
        wrong += _missing(reader, confirmed)
        wrong += _unwanted(reader, records)
    return wrong


def stored_twice(disk: SimDisk) -> list[str]:
    """Publications that a log has more than once."""
    wrong = []
    for name, log in disk.logs.items():
        seen = set()
        for record in log.records:
            key = (record.publisher, record.publication)
            if key in seen:
                wrong.append(f"log {name} has {key} twice")
            seen.add(key)
    return wrong


def _wrong_lives(reader: ReadingProgram) -> Iterator[str]:
    """Order and doubles within a life."""
    for number, life in enumerate(reader.lives):
        last: dict[int, int] = {}
        for message in life.received:
            if message.tick <= last.get(message.pubend, -1):
                yield f"{reader.client.name}, life {number}: {message.tick} out of order or twice"
            last[message.pubend] = message.tick


def _missing(reader: ReadingProgram, confirmed: Mapping[int, Mapping[str, Value]]) -> Iterator[str]:
    """What was confirmed, is wanted, and came to no life."""
    begin = _begin(reader.lives)
    if begin is None:
        return
    got = {message.tick for life in reader.lives for message in life.received}
    gaps = [(gap.start, gap.stop) for life in reader.lives for gap in life.missed]
    for tick, attributes in confirmed.items():
        if tick <= begin or tick in got:
            continue
        if not reader.predicate.matches(Message.trusted(attributes)):
            continue
        if not any(start <= tick < stop for start, stop in gaps):
            yield f"{reader.client.name} never got {tick}: {attributes}"


def _begin(lives: list[ReaderLife]) -> int | None:
    """Where the subscription began; None if it was never open."""
    for life in lives:
        if life.opened is not None:
            return min(position.tick for position in life.opened.positions)
    return None


def _unwanted(reader: ReadingProgram, records: dict[int, LogRecord]) -> Iterator[str]:
    """What came and is not wanted, or was never stored."""
    for life in reader.lives:
        for message in life.received:
            if message.tick not in records:
                yield f"{reader.client.name} got {message.tick}, which no disk has"
            elif not reader.predicate.matches(Message.trusted(read_attributes_of(message.body))):
                yield f"{reader.client.name} got {message.tick}, which it does not want"
