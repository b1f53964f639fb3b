"""Experiments as values: what a file may say, with its bounds.

Every field says its meaning; a field without a default must be written. What
is here only says what is to be simulated: `build` does it. The tables that a file
is made of are in `parts`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from penstock.lab.schema.base import (
    NUMBER_MAX,
    PAIR_LENGTH,
    Finite,
    Name,
    NotNegative,
    Part,
    Positive,
)
from penstock.lab.schema.network import ChannelPart, NetworkPart, TcpPart
from penstock.lab.schema.transport import Ordering, TransportPart
from penstock.lab.schema.workload import Group, Market


class Times(Part, frozen=True, kw_only=True):
    """How long; the clock of the experiment begins after the warm-up."""

    duration_s: Annotated[float, Meta(ge=0.001, le=1_000_000)]
    # For brokers to learn of one another and of all interests; nothing is published before.
    warmup_s: NotNegative = 5
    # For what is on its way at the end.
    drain_s: NotNegative = 5
    # Links and queues are sampled this often; 0 for never.
    sample_s: Annotated[float, Meta(ge=0.001, le=NUMBER_MAX)] | Literal[0] = 1


class RecordPart(Part, frozen=True, kw_only=True):
    """What is recorded besides publications and arrivals."""

    expected: bool = True
    deliveries: bool = True
    # Only where there are orderings.
    losses: bool = True
    drops: bool = True
    hops: bool = False


class ResponsePart(Part, frozen=True, kw_only=True):
    """Which curves of the response function there are."""

    rtts_ms: list[Positive] = field(default_factory=lambda: [10, 20, 100, 200])
    loss_event_rates: list[Annotated[float, Meta(gt=0, le=1)]] = field(
        default_factory=lambda: [0.001, 0.01, 0.1]
    )


class MeasurePart(Part, frozen=True, kw_only=True):
    """Which metrics are computed, and what they need to know."""

    metrics: list[str]
    # Named stretches of time, in seconds, for which rates are given apart.
    phases: dict[str, tuple[NotNegative, NotNegative]] = field(default_factory=dict)
    # The phase in which every receiver gets all it wants: what is fair in others is told by it.
    ample: str | None = None
    # The publishers and subscribers that metrics of one pair look at, as group names.
    pair: tuple[str, str] | None = None
    # Of a pair's delays: where low ends and high begins.
    delay_split_ms: Positive = 1500
    # Between clusters of delays.
    hop_ms: Positive = 50
    response: ResponsePart = ResponsePart()


class Expectation(Part, frozen=True, kw_only=True):
    """What must be seen; `fails_with` is a change under which it must not be."""

    metric: str
    op: Literal[">=", "<=", "between"]
    value: Finite | Annotated[list[Finite], PAIR_LENGTH]
    mutation: str
    fails_with: dict[str, object]
    variant: str = "off"
    # The value then bounds the ratio of the variant's metric to this variant's.
    ratio_to: str | None = None
    # What the paper says, as a number or in words.
    published: Finite | str | None = None
    profiles: tuple[str, ...] = ("quick", "paper")


class Experiment(Part, frozen=True, kw_only=True):
    """One file, or one resolved profile and variant of it."""

    id: Name
    title: str
    source: str
    about: str = ""
    # Other experiments of the papers that the same run shows.
    ids: list[str] = field(default_factory=list)
    # Parameters that the source leaves open, each with the reason for its value.
    calibrated: dict[str, str] = field(default_factory=dict)
    seeds: Annotated[int, Meta(ge=1, le=10_000)] = 1
    run: Times
    # One of the two; markets and clients belong to a network, a channel has its own.
    network: NetworkPart | None = None
    channel: ChannelPart | None = None
    markets: dict[str, Market] = field(default_factory=dict)
    clients: dict[Name, Group] = field(default_factory=dict)
    # Only in a network.
    tcp: dict[Name, TcpPart] = field(default_factory=dict)
    # With orderings clients run a transport, and subscribe once for each to the same arrivals.
    transport: TransportPart | None = None
    orderings: dict[Name, Ordering] = field(default_factory=dict)
    record: RecordPart = RecordPart()
    measure: MeasurePart
    variants: Annotated[dict[Name, dict[str, object]], Meta(min_length=1)] = field(
        default_factory=lambda: {"off": {}}
    )
    profiles: dict[Name, dict[str, object]] = field(default_factory=dict)
    expect: list[Expectation] = field(default_factory=list)
