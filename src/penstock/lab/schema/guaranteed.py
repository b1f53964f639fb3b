"""Tables of an experiment file: guaranteed streams, instead of a network or a channel."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from penstock.lab.schema.base import PAIR_LENGTH, Count, Name, NotNegative, Part, Positive

# The names of a parent and a child.
Edge: TypeAlias = Annotated[list[Name], PAIR_LENGTH]


class StreamWorkload(Part, frozen=True, kw_only=True):
    """What is published to every pubend, by one writer each."""

    # Messages per second.
    rate: Positive = 125
    # How far the time between two messages may be from its mean, as a share of it.
    spread: Annotated[float, Meta(ge=0, le=1)] = 0.2
    # Of DATA on a link, all included.
    message_bytes: Annotated[int, Meta(ge=1, le=1_000_000)] = 345


class StreamLinkPart(Part, frozen=True, kw_only=True):
    """The links between brokers, as long as no limit says otherwise."""

    rate_mbps: Positive = 100
    delay_ms: NotNegative = 5
    # Of the queue in front of each direction of a link.
    queue_bytes: Annotated[int, Meta(ge=1_000, le=10**9)] = 5_000_000
    # What may be on its way out of the queue and not on the link yet.
    window_bytes: Annotated[int, Meta(ge=1, le=10**6)] = 1_000


class StreamLimit(Part, frozen=True, kw_only=True):
    """A lower rate of both directions of a link, for some time."""

    link: Edge
    # In units of 1 024 bytes per second.
    kb_per_s: Positive
    from_s: NotNegative = 0
    # The end of the run if left out.
    to_s: Positive | None = None


class StreamFailure(Part, frozen=True, kw_only=True):
    """A link that is cut, or a broker that is gone, for some time: one of the two."""

    link: Edge | None = None
    broker: Name | None = None
    from_s: NotNegative
    # It stays so if left out.
    to_s: Positive | None = None
    # When other brokers notice that a broker is gone: at once if its process ends, after 3 s of
    # silence if its machine does.
    noticed_s: NotNegative = 0


class StreamWorker(Part, frozen=True, kw_only=True):
    """A broker with one worker that handles so many messages a second, for some time."""

    broker: Name
    messages_per_s: Positive
    from_s: NotNegative = 0
    # The end of the run if left out.
    to_s: Positive | None = None


class StreamControl(Part, frozen=True, kw_only=True):
    """How hosts ask for repairs, and what brokers keep to answer them."""

    # How far ahead of its doubt horizon a host asks for repairs, in stream time.
    window: Literal["none", "fixed", "literal", "vegas"] = "none"
    # Of a fixed window; without a window, what a host asks for at once all the same.
    window_s: Positive = 1
    # Whether `vegas` doubles its window until something waits in the network.
    window_doubles: bool = True
    reach_s: Positive = 60
    # Repeats a request after so many seconds; `adaptive`: after twice the time that answers take.
    retry: Literal["adaptive"] | Positive = "adaptive"
    # The shortest time before a request is repeated, if that is adaptive.
    retry_min_s: Positive = 0.5
    # How far ahead of its doubt horizon a host keeps what it gets, in stream time.
    receive_window_s: Positive = 10
    # The length of one requested range, in stream time.
    range_s: Positive = 0.1
    # Of a relay, for each pubend; in stream time and bytes.
    cache_s: Positive = 10
    cache_bytes: Annotated[int, Meta(ge=1, le=10**12)] = 64_000_000
    # Whether repairs wait at the pubend while the queue of a link is half full.
    repairs_wait: bool = True
    # Silence is said where nothing was for so long.
    silence_s: Positive = 0.25
    # How the rate of publishers follows hosts.
    rate: Literal["off", "literal", "corrected", "model"] = "off"
    # How much faster than time a host that recovers has to be; the paper's Δ_rec.
    recovery_gain: NotNegative = 1.0
    # Whether relays merge alerts as the paper prints it, however late they are.
    keeps_late_alerts: bool = False
    # The share of what they want that publishers always get, by the model.
    floor_share: Annotated[float, Meta(ge=0, le=1)] = 0.25
    # Whether hosts are asked more often while the model slows publishers down.
    queries_quicken: bool = True
    # Of the corrected law: whether a decrease waits until the last one has arrived, and a host that
    # begins to recover forgets how slow it was.
    holds_decreases: bool = True
    recovers_afresh: bool = True
    # Whether a link carries repairs alone while the host behind it is far behind.
    live: bool = False
    # Whether the repairs of such a host go through its own filters only, to it alone.
    filtered_repair: bool = False
    # Whether pubends share links in turns, and publishers that wait take turns; else first come,
    # first served.
    turns: bool = False


class StreamScale(Part, frozen=True, kw_only=True):
    """Makes a run smaller: what is written above stays as published."""

    # Divides what is published and what links carry, in messages and bytes a second.
    rates: Positive = 1
    # Divides times: when links are limited and cut, windows, and how far caches reach.
    times: Positive = 1


class StreamsPart(Part, frozen=True, kw_only=True):
    """Brokers with pubends, relays and hosts, and how links fare during a run."""

    edges: Annotated[list[Edge], Meta(min_length=1, max_length=1_000)]
    # How many pubends each of these brokers has.
    pubends: Annotated[dict[Name, Count], Meta(min_length=1)]
    # The share of all messages that subscriptions at each of these brokers want, in tenths. What
    # they want is spread evenly over all messages.
    hosts: Annotated[dict[Name, Annotated[float, Meta(ge=0.1, le=1)]], Meta(min_length=1)]
    workload: StreamWorkload = StreamWorkload()
    link: StreamLinkPart = StreamLinkPart()
    limits: list[StreamLimit] = field(default_factory=list)
    failures: list[StreamFailure] = field(default_factory=list)
    workers: list[StreamWorker] = field(default_factory=list)
    control: StreamControl = StreamControl()
    # Of all the rest, for profiles; `run` and `measure` have times of their own.
    scale: StreamScale = StreamScale()
    # Writes every frame to bytes and reads it again: slower, and the same run.
    codec: bool = False
