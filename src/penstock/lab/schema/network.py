"""Tables of an experiment file: brokers, links and TCP connections, or a channel instead."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from penstock.lab.schema.base import PAIR_LENGTH, Chance, Count, Finite, NotNegative, Part, Positive


class Shape(Part, frozen=True, kw_only=True):
    """The topology of the brokers."""

    shape: Literal["line", "star", "dumbbell", "tree", "scale_free", "mesh", "file"]
    size: Annotated[int, Meta(ge=1, le=10_000)] = 1
    diameter: Count | None = None
    degree_max: Count | None = None
    edges: Count | None = None
    edges_per_node: Count = 2
    path: str | None = None
    # Seed of a random shape, which is then the same for every seed of the experiment; if left
    # out, the experiment's seed is used.
    draw: int | None = None


class LinkPart(Part, frozen=True, kw_only=True):
    """A link between brokers; with a pair as delay, each link draws its own between the two."""

    rate_mbps: Positive | None = None
    delay_ms: NotNegative | Annotated[list[NotNegative], PAIR_LENGTH] = 0
    jitter_ms: NotNegative = 0
    loss: Chance = 0
    # Mean length of a burst of losses; 1 is independent loss.
    loss_burst: Annotated[float, Meta(ge=1)] = 1
    queue_bytes: Annotated[int, Meta(ge=1, le=10**12)] = 64_000


class BrokerPart(Part, frozen=True, kw_only=True):
    """How brokers process frames; without a service time, processing takes no time."""

    workers: Annotated[int, Meta(ge=1, le=10_000)] = 1
    service_ms: NotNegative = 0
    law: Literal["exponential", "constant"] = "exponential"
    queue_frames: Count = 10_000
    # ECN: marks a frame that enters a queue fuller than this share; no marks if left out.
    mark_above: Annotated[float, Meta(ge=0, le=1)] | None = None


class LinkChange(Part, frozen=True, kw_only=True):
    """A new rate, from `at_s` on, for both directions of the link between two brokers."""

    between: tuple[str, str]
    at_s: NotNegative
    rate_mbps: Positive


class NetworkPart(Part, frozen=True, kw_only=True):
    """The brokers and the links between them."""

    topology: Shape
    link: LinkPart
    broker: BrokerPart = BrokerPart()
    # Rate changes during the run.
    changes: list[LinkChange] = field(default_factory=list)
    # Writes every frame to bytes and reads it again: slower, and the same run.
    codec: bool = False


class TcpPart(Part, frozen=True, kw_only=True):
    """A TCP connection that shares the link between two brokers; see `sim.tcp`."""

    # Segments go from the first to the second broker; the two are neighbours.
    between: tuple[str, str]
    algorithm: Literal["newreno", "cubic"] = "newreno"
    start_s: NotNegative = 0
    # The end of the experiment if left out.
    stop_s: Positive | None = None
    # Size on the link, headers included.
    segment_bytes: Annotated[int, Meta(ge=41, le=65_535)] = 1500
    # If true, every second segment is acknowledged, or a single one after 40 ms.
    delayed_acks: bool = False
    # RFC 3042.
    limited_transmit: bool = False
    rto_min_ms: Annotated[float, Meta(ge=1, le=60_000)] = 200


class ClockPart(Part, frozen=True, kw_only=True):
    """Errors of the receivers' clocks; the publisher's clock is exact."""

    drift_ppm: Annotated[float, Meta(ge=-100_000, le=100_000)] = 0
    offset_ms: Finite = 0
    # Every `step_every_s` the clock is set forward by `step_ms`; 0 for never.
    step_ms: Finite = 0
    step_every_s: NotNegative = 0


class ChannelPart(Part, frozen=True, kw_only=True):
    """Instead of brokers: one publisher, and a path with given delay and loss to each receiver.

    See `sim.channel.path_model.PathModel` for the delays and losses of a path.
    """

    receivers: Count
    # Messages per second.
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
    # The probability that a message matches a receiver. Without `overlap`, all receivers match
    # the same messages; otherwise a message that the first one matches is matched by each
    # other with probability `overlap`.
    match: Chance = 1
    overlap: Chance | None = None
    # Every `lost_every`-th message matches the first receiver and is lost to all.
    lost_every: Count | None = None
    clock: ClockPart = ClockPart()
    # Writes every frame to bytes and reads it again: slower, and the same run.
    codec: bool = False
