"""Random topologies, predicates and churn: exactly the expected receivers, each once."""

from __future__ import annotations

import random
from hashlib import blake2b

import pytest

from penstock.content.value import Value
from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.kernel.seeds import Seeds
from tests.interpreters import said_under_hash_seeds
from tests.overlay.net import Net

# A broker that restarted is found by its clients' next HELLO; silence is noticed after 3 s.
CONVERGED_NS = 6 * SECOND
# A lost or overtaken SUB is repeated after 30 s; what a lost UNSUB leaves behind goes after 90 s.
CONVERGED_AFTER_LOSS_NS = 96 * SECOND
FILTERS = (
    "a = {}",
    "a < {}",
    "b >= {}",
    "a != {} and exists b",
    "a in ({}, 9) or exists c",
    'c prefix "{}"',
    "not exists b and a > {}",
)


def attributes(rng: random.Random) -> dict[str, Value]:
    values: dict[str, Value] = {}
    for name in ("a", "b"):
        if rng.random() < 0.8:
            values[name] = rng.randrange(10)
    if rng.random() < 0.3:
        values["c"] = f"{rng.randrange(10)}{rng.randrange(10)}"
    return values


def build(seed: int, *, codec: bool) -> tuple[Net, random.Random]:
    """A tree, or a tree with as many links again, and a few clients."""
    rng = Seeds(seed).rng("overlay")
    net = Net(codec=codec)
    count = rng.randint(2, 10)
    for i in range(2, count + 1):
        net.link(str(i), str(rng.randint(1, i - 1)))
    if seed % 2:
        for _ in range(count):
            left, right = rng.sample(range(1, count + 1), 2)
            net.link(str(left), str(right))
    net.start(*map(str, range(1, count + 1)))
    for i in range(2 * count):
        net.client(f"c{i}", str(rng.randint(1, count)))
    net.run(200 * MILLISECOND)
    return net, rng


def churn(net: Net, rng: random.Random) -> None:
    """One thing that happens."""
    name = rng.choice(sorted(net.clients))
    broker = rng.choice(sorted(net.brokers))
    left, right = rng.choice(sorted(net.links))
    match rng.randrange(12):
        case 0 | 1 | 2 | 3 | 4 | 5:
            text = rng.choice(FILTERS).format(rng.randrange(10))
            net.subscribe(name, rng.randrange(4), text)
        case 6 | 7:
            net.unsubscribe(name, rng.randrange(4))
        case 8 if len(net.clients) > 2:
            net.leave(name)
        case 9:
            net.start(broker)
        case 10 if net.links[left, right]:
            net.cut(left, right, silently=rng.random() < 0.5)
        case _:
            net.publish(name, attributes(rng))


def run(seed: int, *, codec: bool = False, loss: float = 0.0, jitter_ns: int = 0) -> Net:
    """A phase of churn with faults, then all links mended, then messages that are checked."""
    net, rng = build(seed, codec=codec)
    chance = Seeds(seed).rng("loss")
    net.lost = lambda *_: chance.random() < loss
    if jitter_ns:
        net.extra_ns = lambda: chance.randrange(jitter_ns)
    for _ in range(40):
        churn(net, rng)
        net.run(rng.randrange(200 * MILLISECOND))
    for (left, right), up in sorted(net.links.items()):
        if not up:
            net.mend(left, right)
    net.lost = lambda *_: False
    net.run(CONVERGED_AFTER_LOSS_NS if loss or jitter_ns else CONVERGED_NS)
    for _ in range(12):
        values = attributes(rng)
        message = net.publish(rng.choice(sorted(net.clients)), values)
        net.run(150 * MILLISECOND)
        assert net.got(message) == net.expected(values), (seed, values)
        assert max(net.crossings(message).values(), default=0) <= 1
    return net


@pytest.mark.parametrize("seed", range(30))
def test_everyone_who_wants_a_message_gets_it_once_and_nobody_else(seed: int) -> None:
    run(seed)


@pytest.mark.parametrize("seed", range(40, 46))
def test_the_same_holds_after_a_fifth_of_all_frames_was_lost(seed: int) -> None:
    run(seed, loss=0.2)


@pytest.mark.parametrize("seed", range(46, 52))
def test_the_same_holds_where_frames_overtake_one_another(seed: int) -> None:
    run(seed, jitter_ns=10 * MILLISECOND)


@pytest.mark.parametrize("seed", range(30, 34))
def test_the_codec_in_the_path_changes_nothing(seed: int) -> None:
    plain, coded = run(seed), run(seed, codec=True)
    assert plain.sent == coded.sent
    assert plain.received == coded.received


def digest(seed: int) -> str:
    net = run(seed)
    return blake2b(repr((net.sent, net.received)).encode()).hexdigest()


def test_what_is_sent_does_not_depend_on_the_hash_seed() -> None:
    program = "from tests.overlay.test_random import digest; print(digest(35))"
    said = said_under_hash_seeds(program)
    assert said[0] == said[1]
