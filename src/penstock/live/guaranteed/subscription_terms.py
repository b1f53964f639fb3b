"""What a program asks for when it subscribes: checked, and as the client machine needs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import time_ns
from typing import Final, Literal

from penstock.api.checkpoint import Checkpoint
from penstock.api.filter import Filter, as_filter, predicate_of
from penstock.api.start import Start, StartKind, start_point
from penstock.api.units import Duration, count, duration_ns, one_of, quoted
from penstock.guaranteed.client import SubscriptionOptions
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.wire.frames.guaranteed.base import STREAMS_MAX, check_name, check_stream_name
from penstock.wire.frames.guaranteed.base import Start as WireStart
from penstock.wire.frames.guaranteed.base import StartKind as WireStartKind
from penstock.wire.frames.guaranteed.subscription import AttachFlags, Position

_U32_MAX: Final = 2**32 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionTerms:
    """One subscription as it was asked for; `options` is what the host has to know."""

    options: SubscriptionOptions
    filter: Filter
    # As written; for the log.
    start: Start
    acks_next: bool
    raises_gaps: bool

    @property
    def durable(self) -> str | None:
        """The durable name; None for one that moves no cursor."""
        return self.options.durable or None


def subscription_terms(
    streams: Sequence[str],
    filter: str | Filter,
    *,
    durable: str | None,
    start: Start,
    ack: Literal["next", "manual"],
    window: int,
    expire: Duration | None,
    attempts: int,
    poison: Literal["stop", "park"],
    on_gap: Literal["raise", "continue"],
    checkpoint: str | None,
    change_filter: bool,
    takeover: bool,
) -> SubscriptionTerms:
    """Checks all arguments of `subscribe`; raises `UsageError`."""
    wanted = as_filter(filter)
    one_of("ack", ack, ("next", "manual"))
    one_of("poison", poison, ("stop", "park"))
    one_of("on_gap", on_gap, ("raise", "continue"))
    if durable is not None:
        check_name("a durable name", durable)
    else:
        _refuse_without_durable(
            {
                "expire": expire is not None,
                "change_filter": change_filter,
                "takeover": takeover,
                "poison": poison == "park",
            }
        )
    flags = AttachFlags.NONE
    if change_filter:
        flags |= AttachFlags.CHANGE_FILTER
    if takeover:
        flags |= AttachFlags.TAKEOVER
    if poison == "park":
        flags |= AttachFlags.PARK
    read = () if checkpoint is None else Checkpoint.parse(checkpoint).positions
    options = SubscriptionOptions(
        streams=_names(streams),
        predicate=predicate_of(wanted),
        durable=durable or "",
        start=wire_start(start),
        flags=flags,
        attempts_max=count("attempts", attempts, low=1, high=_U32_MAX),
        expire_s=0 if expire is None else _whole_seconds(expire),
        positions=tuple(Position(each.pubend, each.tick) for each in read),
        window_messages=count("window", window, low=1, high=_U32_MAX),
    )
    return SubscriptionTerms(
        options=options,
        filter=wanted,
        start=start,
        acks_next=ack == "next",
        raises_gaps=on_gap == "raise",
    )


def wire_start(start: Start) -> WireStart:
    """Where to begin, as a frame has it."""
    point = start_point(start, now_ns=time_ns(), of_stream=True)
    if point.kind is StartKind.FIRST:
        return WireStart(WireStartKind.FIRST)
    if point.kind is StartKind.NOW:
        return WireStart(WireStartKind.NOW)
    if point.position is not None:
        return WireStart(WireStartKind.TICK, point.position.tick)
    return WireStart(WireStartKind.TIME, point.time_ns)


def _refuse_without_durable(given: dict[str, bool]) -> None:
    for argument, is_given in given.items():
        if is_given:
            raise UsageError(f"{argument} is about a durable name: pass durable=NAME")


def _names(streams: Sequence[str]) -> tuple[str, ...]:
    if isinstance(streams, str) or not all(isinstance(name, str) for name in streams):
        raise UsageError(f'streams is a list of names, not {quoted(streams)}: write ["orders"]')
    names = tuple(dict.fromkeys(streams))
    if not 0 < len(names) <= STREAMS_MAX:
        raise UsageError(f"streams has 1 to {STREAMS_MAX} names, not {len(names)}: name some")
    for name in names:
        check_stream_name(name)
    return names


def _whole_seconds(expire: Duration) -> int:
    """Not shorter than was asked for."""
    low_ns, high_ns = SECOND, _U32_MAX * SECOND
    ns = duration_ns("expire", expire, low_ns=low_ns, high_ns=high_ns, example="30d")
    return -(-ns // SECOND)
