"""Experiments as values: what a file may say, with its bounds.

Every field says its meaning; a field without a default must be written. What
is here only says what is to be simulated: `build` does it.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec
from msgspec import Meta, field

# Far beyond what can be simulated, and no infinity.
_MOST: Final = 1e9
Positive: TypeAlias = Annotated[float, Meta(gt=0, le=_MOST)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=_MOST)]
Chance: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
# Of a record; and of a latch, which no ordering lets be longer.
Entries: TypeAlias = Annotated[int, Meta(ge=0, le=255)]
LatchMs: TypeAlias = Annotated[float, Meta(ge=0, le=2_000)]
# What becomes part of a path.
Name: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9._+-]{0,39}$")]
# msgspec misreads a tuple that is one of several possibilities.
Finite: TypeAlias = Annotated[float, Meta(ge=-1e300, le=1e300)]
TWO: Final = Meta(min_length=2, max_length=2)


class Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table of the file; keys that it does not have are refused."""


class Times(Part, frozen=True, kw_only=True):
    """How long; the clock of the experiment begins after the warm-up."""

    duration_s: Annotated[float, Meta(ge=0.001, le=1_000_000)]
    # For brokers to learn of one another and of all interests; nothing is published before.
    warmup_s: NotNegative = 5
    # For what is on its way at the end.
    drain_s: NotNegative = 5
    # Links and queues are sampled this often; 0 for never.
    sample_s: Annotated[float, Meta(ge=0.001, le=_MOST)] | Literal[0] = 1


class Shape(Part, frozen=True, kw_only=True):
    """Who is connected to whom."""

    shape: Literal["line", "star", "dumbbell", "tree", "scale_free", "mesh", "file"]
    size: Annotated[int, Meta(ge=1, le=10_000)] = 1
    diameter: Count | None = None
    degree_max: Count | None = None
    edges: Count | None = None
    edges_per_node: Count = 2
    path: str | None = None
    # A random shape is drawn from this, the same for every seed of the experiment; from the
    # experiment's own seed when it is left out.
    draw: int | None = None


class LinkPart(Part, frozen=True, kw_only=True):
    """A link between brokers; a pair of delays is drawn from, for each link."""

    rate_mbps: Positive | None = None
    delay_ms: NotNegative | Annotated[list[NotNegative], TWO] = 0
    jitter_ms: NotNegative = 0
    loss: Chance = 0
    # Losses in a row, on average; 1 is independent loss.
    loss_burst: Annotated[float, Meta(ge=1)] = 1
    queue_bytes: Annotated[int, Meta(ge=1, le=10**12)] = 64_000


class BrokerPart(Part, frozen=True, kw_only=True):
    """How brokers get through their input; without a service time they do it at once."""

    workers: Annotated[int, Meta(ge=1, le=10_000)] = 1
    service_ms: NotNegative = 0
    law: Literal["exponential", "constant"] = "exponential"
    queue_frames: Count = 10_000
    # Marks what it puts in a queue that is fuller than this share of it; marks nothing if left out.
    mark_above: Annotated[float, Meta(ge=0, le=1)] | None = None


class LinkChange(Part, frozen=True, kw_only=True):
    """From `at_s` on, the link between two brokers has another rate, both ways."""

    between: tuple[str, str]
    at_s: NotNegative
    rate_mbps: Positive


class NetworkPart(Part, frozen=True, kw_only=True):
    """The brokers and the links between them."""

    topology: Shape
    link: LinkPart
    broker: BrokerPart = BrokerPart()
    # Links whose rate changes while the experiment runs.
    changes: list[LinkChange] = []
    # Writes every frame to bytes and reads it again: slower, and the same run.
    codec: bool = False


class TcpPart(Part, frozen=True, kw_only=True):
    """A TCP connection that shares the link between two brokers; see `sim.tcp`."""

    # Segments go from the first to the second, which is its neighbour.
    between: tuple[str, str]
    algorithm: Literal["newreno", "cubic"] = "newreno"
    start_s: NotNegative = 0
    # With the experiment if left out.
    stop_s: Positive | None = None
    # On the link, headers included.
    segment_bytes: Annotated[int, Meta(ge=41, le=65_535)] = 1500
    # Every other segment is acknowledged, or one after 40 ms.
    delayed_acks: bool = False
    # RFC 3042.
    limited_transmit: bool = False
    rto_min_ms: Annotated[float, Meta(ge=1, le=60_000)] = 200


class ClockPart(Part, frozen=True, kw_only=True):
    """What is wrong with the clocks of receivers; the publisher's is right."""

    drift_ppm: Annotated[float, Meta(ge=-100_000, le=100_000)] = 0
    offset_ms: Finite = 0
    # Set forward by so much, so often; 0 for never.
    step_ms: Finite = 0
    step_every_s: NotNegative = 0


class ChannelPart(Part, frozen=True, kw_only=True):
    """Instead of brokers: one publisher, and delays and losses of a known law to each receiver.

    See `sim.channel.path.Path` for what a message meets on its way.
    """

    receivers: Count
    # Messages a second.
    rate: Positive
    spacing: Literal["even", "poisson"] = "even"
    hops: Annotated[int, Meta(ge=1, le=15)] = 2
    hop_ms: NotNegative = 0
    fixed_ms: NotNegative = 0
    loss: Chance = 0
    duplicates: Chance = 0
    correlation: Annotated[float, Meta(ge=0, lt=1)] = 0
    detours: Chance = 0
    detour_ms: NotNegative = 0
    # How probable it is that a message is for a receiver. Without an overlap all want the same
    # messages; else what the first one wants each other wants with this probability.
    match: Chance = 1
    overlap: Chance | None = None
    # Of so many messages the last is one that the first receiver wants, and is lost to all.
    lost_every: Count | None = None
    clock: ClockPart = ClockPart()
    # Writes every frame to bytes and reads it again: slower, and the same run.
    codec: bool = False


class ZipfPart(Part, frozen=True, kw_only=True):
    """Values that are not equally popular, and filters that ask for them; see `sim.zipf`."""

    # How many each attribute has, and how much more popular the first ones are.
    values: Annotated[int, Meta(ge=1, le=10_000)] = 20
    exponent: NotNegative = 1
    # A filter has one to so many.
    constraints: Annotated[int, Meta(ge=1, le=64)] = 5
    # So many of all messages have values that filters ask for.
    asked_share: Chance = 1


class Market(Part, frozen=True, kw_only=True):
    """What messages are about; see `sim.content.Topics`.

    With `zipf` there are no topics: a subscriber has one filter, drawn by popularity, and
    how much of the market that matches is for chance to say.
    """

    hot: Annotated[int, Meta(ge=1, le=10_000)] = 60
    cold: Annotated[int, Meta(ge=0, le=100_000)] = 600
    hot_share: Chance = 0.5
    cold_interest: Chance = 0.0015
    attributes: Annotated[int, Meta(ge=1, le=64)] = 10
    payload_bytes: Annotated[int, Meta(ge=0)] = 0
    zipf: ZipfPart | None = None


class ConstantRate(Part, frozen=True, kw_only=True, tag_field="kind", tag="constant"):
    """The same for ever, in messages a second."""

    rate: NotNegative


class RampRate(Part, frozen=True, kw_only=True, tag_field="kind", tag="ramp"):
    """From one rate to another."""

    start: NotNegative
    stop: NotNegative
    over_s: Positive


class BurstRate(Part, frozen=True, kw_only=True, tag_field="kind", tag="bursts"):
    """A base rate, and a higher one for the first part of every period."""

    base: NotNegative
    burst: NotNegative
    burst_s: Positive
    every_s: Positive


class PointsRate(Part, frozen=True, kw_only=True, tag_field="kind", tag="points"):
    """From point to point, each a time in seconds and a rate; the last one stays."""

    points: Annotated[list[tuple[NotNegative, NotNegative]], Meta(min_length=1)]


class PublishPart(Part, frozen=True, kw_only=True):
    """What each client of a group publishes; several start times are taken in turn."""

    market: str
    rate: ConstantRate | RampRate | BurstRate | PointsRate
    start_s: NotNegative | Annotated[list[NotNegative], Meta(min_length=1)] = 0
    spacing: Literal["even", "poisson"] = "even"


class Group(Part, frozen=True, kw_only=True):
    """Clients that do the same.

    `subscribe` says for each market how much of it a client wants to match: a
    number, or a pair to draw from evenly. `at` names their brokers, taken in turn;
    otherwise clients of all groups go round all brokers.
    """

    count: Count
    at: Annotated[list[str], Meta(min_length=1)] | None = None
    subscribe: dict[str, Chance | Annotated[list[Chance], TWO]] = {}
    # What all of them want besides, in the filter language: topics are called MARKET.0, MARKET.1, …
    filter: str | None = None
    publish: PublishPart | None = None

    @property
    def subscribes(self) -> bool:
        """Whether its clients want anything."""
        return bool(self.subscribe) or self.filter is not None


class RecoveryPart(Part, frozen=True, kw_only=True):
    """How endpoints get back what they lost; see `transport.recovery.settings`."""

    # `literal` is chapter 4 of 003.
    kind: Literal["off", "default", "literal"] = "default"
    # Messages kept of each publisher, at least and at most.
    cache_min: Count = 5
    cache_max: Count = 300
    # Whether subscribers keep what they get for others, and so hear others ask.
    volunteers: bool = True
    # Whether publishers keep and answer too; by default all but those of `literal` do.
    publisher_answers: bool | None = None
    # Whether subscribers whom records tell too little ask publishers for digests.
    digests: bool = False
    # Whether subscribers ask publishers to number what their filters match.
    tracks: bool = False
    # Over how many distances those who lost the same draw when to ask; SRM's C2.
    ask_width: Annotated[float, Meta(ge=0, le=1000)] | None = None
    # How many distances all of them wait before that; SRM's C1.
    ask_first: Annotated[float, Meta(gt=0, le=1000)] | None = None
    # Over how many distances those who have it draw when to answer; SRM's D2.
    answer_width: Annotated[float, Meta(gt=0, le=1000)] | None = None
    # Whether requests name who is to answer at once; by default all but those of `literal` do.
    names_first: bool | None = None


class CongestionPart(Part, frozen=True, kw_only=True):
    """How publishers are slowed down; see `transport.congestion.settings`."""

    # `literal` is chapter 5 of 003, `window` has acknowledgements and windows, after pgmcc.
    kind: Literal["off", "default", "literal", "window"] = "default"
    # The size that a message counts as; its own if left out.
    nominal_bytes: Count | None = None
    # By how much of what comes a flow may grow in a round trip; the kind's own if left out.
    increase: Annotated[float, Meta(gt=0, le=1)] | None = None
    # Messages a second that a publisher begins with.
    initial_rate: Positive = 100
    # Messages that wait at a publisher, and what becomes of more.
    queue: Count = 1000
    policy: Literal["drop-oldest", "drop-newest"] = "drop-oldest"
    # Whether no message leaves before an earlier one, so that what is slowed down holds up all.
    strict: bool = False


class TransportPart(Part, frozen=True, kw_only=True):
    """What publishers say of their past in every message."""

    # At most so many messages; with `cover_ms`, only as many as left within that time.
    record: Entries = 10
    cover_ms: Positive | None = None
    # Attributes whose numbers travel beside the fingerprints, so that ranges can be tested.
    numbers: list[str] = []
    # Entries are Bloom sets of so many bits, as in the paper, instead of fingerprints.
    bloom_bits: Annotated[int, Meta(ge=8, le=2040, multiple_of=8)] | None = None
    bloom_hashes: Annotated[int, Meta(ge=1, le=16)] = 3
    recovery: RecoveryPart = RecoveryPart(kind="off")
    congestion: CongestionPart = CongestionPart(kind="off")


class OffOrdering(Part, frozen=True, kw_only=True, tag_field="kind", tag="off"):
    """Messages are handed over as they arrive."""


class _Waiting(Part, frozen=True, kw_only=True):
    """What all have in common that wait for missing messages."""

    # What is done with a message that comes after others had been handed over.
    late: Literal["deliver", "drop"] = "deliver"
    # No message waits longer.
    max_delay_ms: LatchMs = 2_000
    # What comes after a lost message waits so long for its repair.
    hold_for_repair_ms: LatchMs = 0


class ConstantOrdering(_Waiting, frozen=True, kw_only=True, tag_field="kind", tag="constant"):
    """CST-t: always waits as long; for the number before, or for what `record` entries tell of."""

    latch_ms: LatchMs
    record: Entries = 0


class LiteralOrdering(_Waiting, frozen=True, kw_only=True, tag_field="kind", tag="literal"):
    """P-x-y: the paper's algorithm, with x the chance and y the entries looked at."""

    chance: Annotated[float, Meta(gt=0, le=0.5)] = 0.05
    record: Entries = 25
    # By the formula that the paper prints, which takes the wrong branch.
    as_printed: bool = False


class DefaultOrdering(_Waiting, frozen=True, kw_only=True, tag_field="kind", tag="default"):
    """What the transport does unless told otherwise."""

    # Of missing messages that do come: how many come too late.
    chance: Annotated[float, Meta(gt=0, le=1)] = 0.003
    record: Entries = 255
    # Corrects the latch by what is seen where the law does not fit.
    empirical: bool = True


Ordering: TypeAlias = OffOrdering | ConstantOrdering | LiteralOrdering | DefaultOrdering


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
    phases: dict[str, tuple[NotNegative, NotNegative]] = {}
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
    value: Finite | Annotated[list[Finite], TWO]
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
    ids: list[str] = []
    # Parameters that the source leaves open, each with the reason for its value.
    calibrated: dict[str, str] = {}
    seeds: Annotated[int, Meta(ge=1, le=10_000)] = 1
    run: Times
    # One of the two; markets and clients belong to a network, a channel has its own.
    network: NetworkPart | None = None
    channel: ChannelPart | None = None
    markets: dict[str, Market] = {}
    clients: dict[Name, Group] = {}
    # Only in a network.
    tcp: dict[Name, TcpPart] = {}
    # With orderings clients run a transport, and subscribe once for each to the same arrivals.
    transport: TransportPart | None = None
    orderings: dict[Name, Ordering] = {}
    record: RecordPart = RecordPart()
    measure: MeasurePart
    variants: Annotated[dict[Name, dict[str, object]], Meta(min_length=1)] = field(
        default_factory=lambda: {"off": {}}
    )
    profiles: dict[Name, dict[str, object]] = {}
    expect: list[Expectation] = []
