"""The actions of applications in a swarm run, drawn in advance as a list.

Clients subscribe, change and end subscriptions, leave and return, and publish. Knows neither
network nor checkers; `run` carries the actions out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from penstock.content.value import Value
from penstock.kernel.instant import MILLISECOND, SECOND, Instant
from penstock.kernel.seeds import Seeds
from penstock.sim.publish_schedule import Constant, departures
from penstock.sim.swarm.options import Options

FILTERS: Final = (
    "a = {}",
    "a < {}",
    "b >= {}",
    "a >= {} and a < 9 and exists b",
    "a != {} and exists b",
    "not (a = {} or b = 3)",
    "a in ({}, 9) or exists c",
    "a in ({}, 1, 2) and b <= 4 or a = 9",
    'c prefix "{}"',
    'not c prefix "{}"',
    'c contains "{}" and a > 2',
    'c suffix "{}"',
    "not exists b and a > {}",
    "exists c",
    "true",
)
# More than a client may have at once: brokers do not forget an ended subscription at once.
SUBSCRIPTION_IDS_MAX: Final = 6

Verb = Literal["subscribe", "unsubscribe", "leave", "return", "publish"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action of one client; fields that a verb does not use keep their defaults."""

    at: Instant
    client: str
    verb: Verb
    subscription_id: int = 0
    predicate: str = ""
    is_announced: bool = False
    values: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        what = {
            "subscribe": f" {self.subscription_id}: {self.predicate}",
            "unsubscribe": f" {self.subscription_id}",
            "leave": " and says so" if self.is_announced else " silently",
            "return": "",
            "publish": f" {dict(self.values)}",
        }[self.verb]
        return f"{self.client} {self.verb}{what}"


def draw_actions(options: Options, *, stop: Instant) -> list[Action]:
    """Actions up to `stop`, in order; every client that left has returned by then."""
    seeds = Seeds(options.seed).child("swarm", "workload")
    clients = [f"c{i}" for i in range(1, options.clients + 1)]
    actions = [*_initial_subscriptions(seeds.rng("first"), clients, options.stagger_ns)]
    rng = seeds.rng("changes")
    changes = departures(Constant(options.changes_per_s), start=SECOND, stop=stop, rng=rng)
    for at in changes:
        actions += _change(rng, rng.choice(clients), at, stop, options.leave_announced_chance)
    rng = seeds.rng("messages")
    for at in departures(Constant(options.messages_per_s), start=0, stop=stop, rng=rng):
        actions.append(draw_publication(rng, rng.choice(clients), at))
    return sorted(actions, key=lambda action: action.at)


def draw_publication(rng: Random, client: str, at: Instant) -> Action:
    """Draws a message that some filters match and others do not."""
    values: list[tuple[str, Value]] = [
        (name, rng.randrange(10)) for name in ("a", "b") if rng.random() < 0.8
    ]
    if rng.random() < 0.3:
        values.append(("c", f"{rng.randrange(10)}{rng.randrange(10)}"))
    return Action(at=at, client=client, verb="publish", values=tuple(values))


def _initial_subscriptions(rng: Random, clients: list[str], start: Instant) -> Iterator[Action]:
    for client in clients:
        for subscription_id in range(rng.randrange(4)):
            at = start + rng.randrange(100) * MILLISECOND
            yield _subscription(rng, client, at, subscription_id)


def _subscription(rng: Random, client: str, at: Instant, subscription_id: int) -> Action:
    predicate = rng.choice(FILTERS).format(rng.randrange(10))
    return Action(
        at=at, client=client, verb="subscribe", subscription_id=subscription_id, predicate=predicate
    )


def _change(
    rng: Random, client: str, at: Instant, stop: Instant, leave_announced_chance: float
) -> Iterator[Action]:
    subscription_id = rng.randrange(SUBSCRIPTION_IDS_MAX)
    kind = rng.random()
    if kind < 0.55:
        yield _subscription(rng, client, at, subscription_id)
    elif kind < 0.85:
        yield Action(at=at, client=client, verb="unsubscribe", subscription_id=subscription_id)
    else:
        yield Action(
            at=at, client=client, verb="leave", is_announced=rng.random() < leave_announced_chance
        )
        returns_at = min(stop, at + 1 + int(rng.expovariate(2) * SECOND))
        yield Action(at=returns_at, client=client, verb="return")
