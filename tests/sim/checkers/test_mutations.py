"""Checkers can fail: each mutation of a machine or a link is found by the checker meant for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.content.tags import Encoder
from penstock.kernel.instant import SECOND
from penstock.overlay.client import OverlayClient
from penstock.overlay.forwarding.duplicate_filter import DuplicateFilter
from penstock.overlay.forwarding.forwarder import Forwarder
from penstock.overlay.routing.advert_database import AdvertDatabase
from penstock.overlay.routing.advertiser import Advertiser
from penstock.overlay.routing.tombstones import Tombstones
from penstock.overlay.sessions.client_sessions import ClientSessions
from penstock.sim.link import Link
from penstock.sim.loss import Bernoulli
from penstock.sim.swarm import Options, SwarmFailed, draw_clean_options, draw_options, run_swarm

# No loss, no fault, no overtaking: all is promised, all the time.
ORDERLY = replace(
    draw_clean_options(1),
    topology="line",
    brokers=4,
    clients=8,
    workers=0,
    codec=False,
    changes_per_s=20,
    messages_per_s=100,
)
LOSSY = replace(
    draw_options(1),
    topology="line",
    brokers=3,
    workers=0,
    codec=False,
    link=replace(ORDERLY.link, loss=Bernoulli(0.1)),
)


def blamed(options: Options) -> set[str]:
    """The checkers that object; the run must fail."""
    with pytest.raises(SwarmFailed) as failed:
        run_swarm(options.seed, options=options)
    lines = str(failed.value).split("\n\noptions:")[0].splitlines()
    return {line.split("[")[1].split("]")[0] for line in lines}


def wrap(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, make: Callable[[Any], Any]
) -> None:
    """Puts what `make(original)` makes in place of a method."""
    monkeypatch.setattr(owner, name, make(getattr(owner, name)))


def test_the_unchanged_network_passes() -> None:
    assert run_swarm(1, options=ORDERLY).required > 100
    assert run_swarm(1, options=LOSSY).delivered > 0


def test_a_broker_that_forwards_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(forward: Any) -> Any:
        def mutant(self: Forwarder, *arguments: Any) -> None:
            forward(self, *arguments)
            forward(self, *arguments)

        return mutant

    wrap(monkeypatch, Forwarder, "_forward", twice)
    assert blamed(ORDERLY) == {"crossings"}


def test_clients_that_are_matched_by_their_bits_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def by_bits(self: ClientSessions, message: Any) -> list[str]:
        bits = self._encoder.message_bits(message)
        return [
            port
            for port, session in self._sessions.items()
            if any(
                not self._encoder.filter_bits(f) & ~bits
                for subscription in session.subscriptions.values()
                for f in subscription.predicate.filters
            )
        ]

    monkeypatch.setattr(ClientSessions, "matching", by_bits)
    assert blamed(ORDERLY) == {"exact"}


def test_a_broker_that_forgets_an_unsub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ClientSessions, "unsubscribe", lambda *_, **__: None)
    assert "exact" in blamed(ORDERLY)


def test_a_broker_that_forgets_a_sub_which_replaces_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def deaf(subscribe: Any) -> Any:
        def mutant(self: ClientSessions, port: str, sub: Any, *, now: int) -> None:
            session = self._sessions.get(port)
            if session is None or sub.subscription not in session.subscriptions:
                subscribe(self, port, sub, now=now)

        return mutant

    wrap(monkeypatch, ClientSessions, "subscribe", deaf)
    assert "complete" in blamed(ORDERLY)


def test_a_table_that_grows_beyond_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def hoard(self: DuplicateFilter, packet: Any, destinations: tuple[int, ...]) -> tuple[int, ...]:
        self._destinations.max_entries = 1_000_000
        before = self._destinations.get(packet, ())
        self._destinations[packet] = before + destinations
        return tuple(d for d in destinations if d not in before)

    monkeypatch.setattr(DuplicateFilter, "unseen", hoard)
    settings = replace(ORDERLY.settings, seen_max=16)
    assert blamed(replace(ORDERLY, settings=settings)) == {"tables"}


def test_a_link_that_hands_frames_over_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(arrive: Any) -> Any:
        def mutant(self: Link[Any], frame: Any) -> None:
            arrive(self, frame)
            if self._events.next_serial() % 20 == 0:
                arrive(self, frame)

        return mutant

    wrap(monkeypatch, Link, "_arrive_observed", twice)
    assert "conservation" in blamed(ORDERLY)


def test_a_link_that_hands_frames_over_twice_in_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(arrive: Any) -> Any:
        def mutant(self: Link[Any], frame: Any) -> None:
            arrive(self, frame)
            if self._events.next_serial() % 20 == 0:
                self._receiver(frame)

        return mutant

    wrap(monkeypatch, Link, "_arrive_observed", twice)
    assert "conservation" in blamed(ORDERLY)


def test_a_link_that_loses_frames_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Link, "_lose", lambda *_: None)
    assert blamed(LOSSY) == {"conservation"}


def test_a_client_that_hands_up_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(receive: Any) -> Any:
        def mutant(self: OverlayClient, frame: Any, *, via: str, now: int) -> None:
            before = len(self._out)
            receive(self, frame, via=via, now=now)
            if hasattr(frame, "carried"):
                self._out.extend(list(self._out)[before:])

        return mutant

    wrap(monkeypatch, OverlayClient, "receive", twice)
    assert blamed(ORDERLY) == {"once"}


def test_a_broker_that_notifies_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(notify: Any) -> Any:
        def mutant(self: Forwarder, *arguments: Any) -> None:
            notify(self, *arguments)
            notify(self, *arguments)

        return mutant

    wrap(monkeypatch, Forwarder, "_notify", twice)
    assert blamed(ORDERLY) == {"once"}


def test_a_broker_that_overlooks_a_destination(monkeypatch: pytest.MonkeyPatch) -> None:
    wrap(
        monkeypatch,
        AdvertDatabase,
        "brokers_wanting",
        lambda wanted_by: lambda *a: wanted_by(*a)[:-1],
    )
    assert blamed(ORDERLY) == {"complete"}


def test_an_encoder_that_gives_filters_a_bit_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    wrap(monkeypatch, Encoder, "filter_bits", lambda bits: lambda *a: bits(*a) | 1 << 17)
    assert "encoding" in blamed(ORDERLY)


def test_a_broker_that_counts_what_it_does_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def boast(pub: Any) -> Any:
        def mutant(self: Forwarder, *arguments: Any) -> None:
            pub(self, *arguments)
            self._counters["delivered"] += 1

        return mutant

    wrap(monkeypatch, Forwarder, "_deliver", boast)
    assert blamed(ORDERLY) == {"counting"}


def test_a_broker_that_never_says_what_is_no_longer_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrap(
        monkeypatch,
        Advertiser,
        "_delta",
        lambda delta: lambda self, added=(), *_, **__: delta(self, added),
    )
    assert blamed(ORDERLY) == {"agreement"}


def test_a_client_that_says_what_it_wants_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OverlayClient, "_send_all_subscriptions", lambda _: None)
    assert "complete" in blamed(LOSSY)


def test_brokers_that_hand_a_dead_one_back_and_forth(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the swarm found: neighbours out of step kept brokers that are gone for ever."""
    haunted = replace(LOSSY, stale_brokers=2, stagger_ns=SECOND // 2)
    run_swarm(haunted.seed, options=haunted)
    monkeypatch.setattr(Tombstones, "add", lambda *_, **__: None)
    assert blamed(haunted) == {"agreement"}
