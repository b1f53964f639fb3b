"""What a broker answers, as the types that programs see."""

from __future__ import annotations

import msgspec

from penstock.api.checkpoint import Checkpoint
from penstock.api.durable_info import DurableInfo, Lag
from penstock.api.filter import Filter
from penstock.api.parked_message import ParkedMessage
from penstock.api.position import Position
from penstock.api.retention import Retention
from penstock.api.stream_info import Holder, StreamInfo
from penstock.api.units import duration_text, size_text
from penstock.guaranteed.settings import Retention as RetentionSetting
from penstock.guaranteed.status import DurableStatus, LagStatus, StreamStatus
from penstock.wire.codec.guaranteed.body import read_attributes_of, read_payload_of


class ParkedRow(msgspec.Struct):
    """A message of the answer to `parked`."""

    pubend: str
    tick: int
    published_ns: int
    attempts: int
    reason: str
    # None where it is too large for an answer.
    body: bytes | None


def retention_of(setting: RetentionSetting) -> Retention:
    """As users write it."""
    return Retention(
        size=None if setting.size_bytes is None else size_text(setting.size_bytes),
        age=None if setting.age_ns is None else duration_text(setting.age_ns),
        overflow="drop" if setting.drops else "refuse",
    )


def retention_setting(retention: Retention) -> dict[str, object]:
    """As a request has it."""
    return {
        "size_bytes": retention.size_bytes,
        "age_ns": retention.age_ns,
        "drops": retention.overflow == "drop",
    }


def stream_info(status: StreamStatus) -> StreamInfo:
    """One stream."""
    held_by = status.held_by
    return StreamInfo(
        name=status.name,
        messages=status.messages,
        bytes=status.bytes,
        retention=Retention() if status.retention is None else retention_of(status.retention),
        is_here=status.is_here,
        held_by=None
        if held_by is None
        else Holder(
            host=held_by.host,
            durables=tuple(held_by.durables),
            since_ns=held_by.since_ns,
            bytes=held_by.bytes,
        ),
    )


def lag(status: LagStatus) -> Lag:
    """How far a durable name is behind."""
    return Lag(
        messages=status.messages,
        seconds=status.seconds,
        retention_share=status.retention_share,
        is_upper_bound=status.is_upper_bound,
    )


def durable_info(status: DurableStatus) -> DurableInfo:
    """One durable name."""
    positions = (Position(int(pubend, 16), tick) for pubend, tick in status.positions.items())
    return DurableInfo(
        name=status.name,
        streams=tuple(status.streams),
        host=status.host,
        filter=Filter(status.filter),
        checkpoint=str(Checkpoint(positions)),
        lag=lag(status.lag),
        reader=status.reader,
        reader_since_ns=status.reader_since_ns,
        parked=status.parked,
        deleted=tuple(status.deleted),
        stopped=status.stopped,
    )


def parked_message(durable: str, row: ParkedRow) -> ParkedMessage:
    """One message that was put aside."""
    return ParkedMessage(
        durable=durable,
        position=Position(int(row.pubend, 16), row.tick),
        attributes={} if row.body is None else read_attributes_of(row.body),
        payload=b"" if row.body is None else read_payload_of(row.body),
        is_shown=row.body is not None,
        published_ns=row.published_ns,
        attempts=row.attempts,
        reason=row.reason,
    )
