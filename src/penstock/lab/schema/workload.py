"""Tables of an experiment file: markets (message content), publishers and subscribers."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, field

from penstock.lab.schema.base import PAIR_LENGTH, Chance, Count, NotNegative, Part, Positive


class ZipfPart(Part, frozen=True, kw_only=True):
    """Attribute values and filters of Zipf popularity; see `sim.zipf_workload`."""

    # Values per attribute, and the Zipf exponent of their popularity.
    values: Annotated[int, Meta(ge=1, le=10_000)] = 20
    exponent: NotNegative = 1
    # The most constraints of a filter; the fewest is one.
    constraints: Annotated[int, Meta(ge=1, le=64)] = 5
    # The share of messages whose values occur in filters.
    asked_share: Chance = 1


class Market(Part, frozen=True, kw_only=True):
    """The content of messages; see `sim.topic_workload.TopicWorkload`.

    With `zipf` there are no topics: a subscriber has one filter, drawn by popularity, and
    the share of the market that it matches is random.
    """

    hot: Annotated[int, Meta(ge=1, le=10_000)] = 60
    cold: Annotated[int, Meta(ge=0, le=100_000)] = 600
    hot_share: Chance = 0.5
    cold_interest: Chance = 0.0015
    attributes: Annotated[int, Meta(ge=1, le=64)] = 10
    payload_bytes: Annotated[int, Meta(ge=0)] = 0
    zipf: ZipfPart | None = None


class ConstantRate(Part, frozen=True, kw_only=True, tag_field="kind", tag="constant"):
    """A constant rate in messages per second."""

    rate: NotNegative


class RampRate(Part, frozen=True, kw_only=True, tag_field="kind", tag="ramp"):
    """A linear change from one rate to another."""

    start: NotNegative
    stop: NotNegative
    over_s: Positive


class BurstRate(Part, frozen=True, kw_only=True, tag_field="kind", tag="bursts"):
    """A base rate, and another rate for the first `burst_s` of every period."""

    base: NotNegative
    burst: NotNegative
    burst_s: Positive
    every_s: Positive


class PointsRate(Part, frozen=True, kw_only=True, tag_field="kind", tag="points"):
    """Linear from point to point, each (seconds, rate); the last rate stays."""

    points: Annotated[list[tuple[NotNegative, NotNegative]], Meta(min_length=1)]


class PublishPart(Part, frozen=True, kw_only=True):
    """What each client of a group publishes; clients take several start times in turn."""

    market: str
    rate: ConstantRate | RampRate | BurstRate | PointsRate
    start_s: NotNegative | Annotated[list[NotNegative], Meta(min_length=1)] = 0
    spacing: Literal["even", "poisson"] = "even"


class Group(Part, frozen=True, kw_only=True):
    """Clients with the same behaviour.

    `subscribe` gives for each market the share that a client's filters match: a number,
    or a pair between which it is drawn uniformly. `at` names their brokers, taken in turn;
    without it, clients of all groups are spread over all brokers in turn.
    """

    count: Count
    at: Annotated[list[str], Meta(min_length=1)] | None = None
    subscribe: dict[str, Chance | Annotated[list[Chance], PAIR_LENGTH]] = field(
        default_factory=dict
    )
    # A further filter of all clients, in the filter language; topics are MARKET.0, MARKET.1, …
    filter: str | None = None
    publish: PublishPart | None = None

    @property
    def subscribes(self) -> bool:
        """Whether its clients subscribe to anything."""
        return bool(self.subscribe) or self.filter is not None
