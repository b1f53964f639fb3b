"""Tables of an experiment's file: what messages are about, who publishes and who subscribes."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from penstock.lab.schema.base import PAIR_LENGTH, Chance, Count, NotNegative, Part, Positive


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
    subscribe: dict[str, Chance | Annotated[list[Chance], PAIR_LENGTH]] = field(
        default_factory=dict
    )
    # What all of them want besides, in the filter language: topics are called MARKET.0, MARKET.1, …
    filter: str | None = None
    publish: PublishPart | None = None

    @property
    def subscribes(self) -> bool:
        """Whether its clients want anything."""
        return bool(self.subscribe) or self.filter is not None
