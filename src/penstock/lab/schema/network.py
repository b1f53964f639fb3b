"""Tables of an experiment's file: brokers, links, TCP connections; or a channel instead."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from penstock.lab.schema.base import PAIR_LENGTH, Chance, Count, Finite, NotNegative, Part, Positive


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
    delay_ms: NotNegative | Annotated[list[NotNegative], PAIR_LENGTH] = 0
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
    changes: list[LinkChange] = field(default_factory=list)
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
