"""The actions of applications above endpoints in a swarm run, drawn in advance.

Applications publish in bursts, subscribe, unsubscribe, change orderings, leave and return.
Knows neither network nor checkers; `endpoints` carries the actions out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Final, Literal

from penstock.content.value import Value
from penstock.kernel.instant import SECOND, Instant
from penstock.kernel.seeds import Seeds
from penstock.sim.publish_schedule import Constant, departures
from penstock.sim.swarm.endpoint_options import EndpointOptions
from penstock.sim.swarm.workload import draw_publication

# Subscriptions of one client at the same time.
SUBSCRIPTIONS_MAX: Final = 6

Verb = Literal["subscribe", "volunteer", "adjust", "unsubscribe", "leave", "return", "publish"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of one application; fields that a verb does not use keep their defaults."""

    at: Instant
    client: str
    verb: Verb
    # The index of one of its subscriptions, modulo their count; interest and ordering by index.
    subscription_index: int = 0
    interest: int = 0
    ordering: int = 0
    is_announced: bool = False
    values: tuple[tuple[str, Value], ...] = ()


def draw_actions(options: EndpointOptions, *, stop: Instant) -> list[Action]:
    """Actions up to `stop`, in order; every client that left has returned by then."""
    network = options.network
    seeds = Seeds(options.seed).child("swarm", "endpoints")
    clients = [f"c{i}" for i in range(1, network.clients + 1)]
    actions: list[Action] = []
    rng = seeds.rng("changes")
    for at in departures(Constant(network.changes_per_s), start=SECOND // 4, stop=stop, rng=rng):
        actions += _change(rng, options, rng.choice(clients), at, stop)
    rng = seeds.rng("messages")
    bursts_per_s = network.messages_per_s * 2 / (1 + options.burst_max)
    for at in departures(Constant(bursts_per_s), start=0, stop=stop, rng=rng):
        actions += _burst(rng, options, rng.choice(clients), at, stop)
    return sorted(actions, key=lambda action: action.at)


def initial_actions(options: EndpointOptions, client: str, start: int) -> list[Action]:
    """The subscriptions that an application makes whenever its host starts."""
    rng = Seeds(options.seed).rng("swarm", "endpoints", "joining", client, str(start))
    subscriptions = [_subscribe_action(rng, options, client, 0) for _ in range(rng.randint(1, 3))]
    if rng.random() >= options.cache_chance:
        return subscriptions
    return [replace(_subscribe_action(rng, options, client, 0), verb="volunteer"), *subscriptions]


def _burst(
    rng: Random, options: EndpointOptions, client: str, at: Instant, stop: Instant
) -> Iterator[Action]:
    for _ in range(rng.randint(1, options.burst_max)):
        if at < stop:
            values = draw_publication(rng, client, at).values
            yield Action(at=at, client=client, verb="publish", values=values)
        at += options.burst_gap_ns


def _subscribe_action(rng: Random, options: EndpointOptions, client: str, at: Instant) -> Action:
    return Action(
        at=at,
        client=client,
        verb="subscribe",
        interest=rng.randrange(len(options.interests)),
        ordering=rng.randrange(len(options.orderings)),
    )


def _change(
    rng: Random, options: EndpointOptions, client: str, at: Instant, stop: Instant
) -> Iterator[Action]:
    kind, subscription_index = rng.random(), rng.randrange(SUBSCRIPTIONS_MAX)
    ordering = rng.randrange(len(options.orderings))
    if kind < 0.35:
        yield _subscribe_action(rng, options, client, at)
    elif kind < 0.6:
        yield Action(
            at=at,
            client=client,
            verb="adjust",
            subscription_index=subscription_index,
            ordering=ordering,
        )
    elif kind < 0.9:
        yield Action(
            at=at, client=client, verb="unsubscribe", subscription_index=subscription_index
        )
    else:
        # Sometimes so soon that its last frames overtake its first new ones, or are overtaken.
        returns_at = min(stop, at + 1 + int(rng.expovariate(rng.choice((4, 1_000))) * SECOND))
        is_announced = rng.random() < options.network.leave_announced_chance
        yield from _publish_at_once(rng, client, at)
        yield Action(at=at, client=client, verb="leave", is_announced=is_announced)
        yield Action(at=returns_at, client=client, verb="return")
        yield from _publish_at_once(rng, client, returns_at)


def _publish_at_once(rng: Random, client: str, at: Instant) -> Iterator[Action]:
    for _ in range(rng.randint(1, 4)):
        values = draw_publication(rng, client, at).values
        yield Action(at=at, client=client, verb="publish", values=values)
