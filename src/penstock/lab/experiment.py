"""The schema of an experiment file: its keys, their types and bounds.

A key without a default is required. This module only describes what is simulated:
`builders` construct it. The tables of the file that have many keys are in `schema`.
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
from penstock.lab.schema.casts import CastsPart
from penstock.lab.schema.guaranteed import StreamsPart
from penstock.lab.schema.network import ChannelPart, NetworkPart, TcpPart
from penstock.lab.schema.transport import Ordering, TransportPart
from penstock.lab.schema.workload import Group, Market


class Times(Part, frozen=True, kw_only=True):
    """Durations of a run; the experiment's clock starts at 0 after the warm-up."""

    duration_s: Annotated[float, Meta(ge=0.001, le=1_000_000)]
    # Time for brokers to learn of one another and of all interests; nothing is published in it.
    warmup_s: NotNegative = 5
    # Time for messages that are still in flight at the end.
    drain_s: NotNegative = 5
    # Sampling interval of links and queues; 0 disables sampling.
    sample_s: Annotated[float, Meta(ge=0.001, le=NUMBER_MAX)] | Literal[0] = 1


class RecordPart(Part, frozen=True, kw_only=True):
    """Trace tables that are recorded besides publications and arrivals."""

    expected: bool = True
    deliveries: bool = True
    # Recorded only if the experiment has orderings.
    losses: bool = True
    drops: bool = True
    hops: bool = False


class ResponsePart(Part, frozen=True, kw_only=True):
    """The curves of the TCP response function to compute."""

    rtts_ms: list[Positive] = field(default_factory=lambda: [10, 20, 100, 200])
    loss_event_rates: list[Annotated[float, Meta(gt=0, le=1)]] = field(
        default_factory=lambda: [0.001, 0.01, 0.1]
    )


class MeasurePart(Part, frozen=True, kw_only=True):
    """The metrics to compute, and their parameters."""

    metrics: list[str]
    # Named intervals (start, stop) in seconds, for which rates are computed separately.
    phases: dict[str, tuple[NotNegative, NotNegative]] = field(default_factory=dict)
    # The phase in which every receiver gets all it subscribed to: the fair shares of the other
    # phases are computed from its rates.
    ample: str | None = None
    # Group names of the publishers and the subscribers that the pair metrics look at.
    pair: tuple[str, str] | None = None
    # Delays of the pair below this are low, above it high.
    delay_split_ms: Positive = 1500
    # Distance between clusters of delays.
    hop_ms: Positive = 50
    response: ResponsePart = ResponsePart()


class Expectation(Part, frozen=True, kw_only=True):
    """A bound on a metric that must hold; with the change `fails_with` it must not hold."""

    metric: str
    op: Literal[">=", "<=", "between"]
    value: Finite | Annotated[list[Finite], PAIR_LENGTH]
    mutation: str
    fails_with: dict[str, object]
    variant: str = "off"
    # If set, must be the unit in which the metric is measured.
    unit: str | None = None
    # If set, the value bounds the ratio of the metric of `variant` to that of this variant.
    ratio_to: str | None = None
    # The paper's value, as a number or as text.
    published: Finite | str | None = None
    profiles: tuple[str, ...] = ("quick", "paper")


class Experiment(Part, frozen=True, kw_only=True):
    """An experiment file, or one profile and variant of it after they were merged."""

    id: Name
    title: str
    source: str
    about: str = ""
    # Ids of other experiments of the papers that the same run reproduces.
    ids: list[str] = field(default_factory=list)
    # Parameters that the source does not specify, each with the reason for its value.
    calibrated: dict[str, str] = field(default_factory=dict)
    seeds: Annotated[int, Meta(ge=1, le=10_000)] = 1
    run: Times
    # Exactly one of the four. Markets and clients belong to a network; the others have their own.
    network: NetworkPart | None = None
    channel: ChannelPart | None = None
    streams: StreamsPart | None = None
    casts: CastsPart | None = None
    markets: dict[str, Market] = field(default_factory=dict)
    clients: dict[Name, Group] = field(default_factory=dict)
    # Only with a network.
    tcp: dict[Name, TcpPart] = field(default_factory=dict)
    # With orderings, clients run a transport and subscribe once per ordering, so that all
    # orderings see the same arrivals.
    transport: TransportPart | None = None
    orderings: dict[Name, Ordering] = field(default_factory=dict)
    record: RecordPart = RecordPart()
    measure: MeasurePart
    variants: Annotated[dict[Name, dict[str, object]], Meta(min_length=1)] = field(
        default_factory=lambda: {"off": {}}
    )
    profiles: dict[Name, dict[str, object]] = field(default_factory=dict)
    expect: list[Expectation] = field(default_factory=list)
