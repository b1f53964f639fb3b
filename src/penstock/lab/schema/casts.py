"""The table of an experiment file that is about casts, instead of a network or a channel."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from penstock.lab.schema.base import Chance, Part, Positive


class CastLoss(Part, frozen=True, kw_only=True):
    """What links lose; all of them the same share."""

    # Of all packets, those that are lost somewhere in the tree: .03 if `path` does not say more.
    reported: Annotated[float, Meta(ge=0, lt=1)] | None = None
    # Of the packets on the way to one subscriber, at the mean distance from the publisher.
    path: Annotated[float, Meta(ge=0, le=0.5)] = 0
    # How many packets are lost one after the other, on average.
    burst_packets: Annotated[float, Meta(ge=1, le=1_000)] = 1


class CastLate(Part, frozen=True, kw_only=True):
    """Subscribers that join while the first distribution is on its way."""

    # Of all subscribers.
    share: Chance
    # How much of the first distribution has been sent by then.
    after: Chance = 0.5


class CastFailure(Part, frozen=True, kw_only=True):
    """The relay with the most subscribers below it dies; without relays, such a router does."""

    after_s: Positive
    # Another starts in its place.
    replaced_after_s: Positive = 3


class CastsPart(Part, frozen=True, kw_only=True):
    """One object that is cast over a scale-free network of routers."""

    protocol: Literal["default", "bfs", "literal", "stream"] = "default"
    routers: Annotated[int, Meta(ge=3, le=2_000)] = 200
    # At routers that are drawn.
    subscribers: Annotated[int, Meta(ge=1, le=2_000)] = 50
    packets: Annotated[int, Meta(ge=1, le=10_000_000)] = 20_000
    packets_per_s: Annotated[int, Meta(ge=1, le=1_000_000)] = 1_000
    # Draws graph and subscribers by this seed, so that those of the run move only the publisher.
    graph_seed: int | None = None
    # A train leaves at once; the gap to the next keeps the rate.
    train_packets: Annotated[int, Meta(ge=1, le=46)] = 34
    # Of a block of `stream`.
    stream_block_packets: Annotated[int, Meta(ge=1, le=10_000)] = 4_000
    loss: CastLoss = CastLoss()
    late: CastLate | None = None
    failure: CastFailure | None = None
    # How long relays of `literal` hold NAKs.
    hold_s: Annotated[float, Meta(ge=0, le=60)] = 0.1
