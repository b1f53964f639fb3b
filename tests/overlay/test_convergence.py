"""After every kind of change the network delivers again, within a bound that is stated here."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND
from penstock.overlay.settings import DEFAULTS
from penstock.wire.frames.adv import Adv
from penstock.wire.frames.base import OverlayFrame
from penstock.wire.frames.lsa import Lsa
from penstock.wire.frames.sub import Sub
from penstock.wire.frames.unsub import Unsub
from tests.overlay.net import DELAY_NS, Net, line

BROKERS = 5
# To the farthest broker and from client to broker.
ACROSS_NS = BROKERS * DELAY_NS
TOLD_NS = DEFAULTS.coalesce_ns + ACROSS_NS
# HELLO there, its answer, a summary, what it shows to be lacking.
MET_NS = 4 * DELAY_NS + ACROSS_NS


@pytest.fixture
def net() -> Net:
    """A line of five brokers with a client on each, all of whom know one another."""
    net = Net()
    line(net, BROKERS)
    for i in range(1, BROKERS + 1):
        net.client(f"c{i}", str(i))
    net.run(2 * SECOND)
    return net


def knows(net: Net, broker: str, origin: str) -> Callable[[], bool]:
    """Whether one broker knows all that another wants, and how to get there."""

    def is_known() -> bool:
        wanted = net.brokers[origin].advertised()
        there = net.brokers[broker]
        return wanted == there.advertised_by(int(origin)) and int(origin) in there.reachable

    return is_known


def works(net: Net) -> bool:
    """Whether a message from every client reaches exactly the others and itself."""
    for name in sorted(net.clients):
        message = net.publish(name, {"x": 1})
        net.run(2 * ACROSS_NS)
        if net.got(message) != net.expected({"x": 1}):
            return False
    return True


def test_a_new_network_finds_itself() -> None:
    net = Net()
    line(net, BROKERS)
    took = net.run_until(lambda: all(len(b.reachable) == 4 for b in net.brokers.values()), SECOND)
    assert took <= MET_NS


def test_a_subscription_is_known_everywhere(net: Net) -> None:
    net.subscribe("c5", 1, "x = 1")
    took = net.run_until(lambda: net.brokers["1"].advertised_by(5) != (), SECOND)
    assert DEFAULTS.coalesce_ns <= took <= TOLD_NS
    assert works(net)


def test_an_unsubscription_is_known_everywhere(net: Net) -> None:
    net.subscribe("c5", 1, "x = 1")
    net.run()
    net.unsubscribe("c5", 1)
    took = net.run_until(lambda: net.brokers["1"].advertised_by(5) == (), SECOND)
    assert took <= TOLD_NS
    assert works(net)


def test_a_client_that_disconnects_is_forgotten_everywhere(net: Net) -> None:
    net.subscribe("c5", 1, "x = 1")
    # Until nothing is said again that could arrive after it has left.
    net.run(3 * SECOND)
    net.leave("c5")
    took = net.run_until(lambda: net.brokers["1"].advertised_by(5) == (), SECOND)
    assert took <= TOLD_NS


def test_a_client_that_falls_silent_is_forgotten(net: Net) -> None:
    net.subscribe("c5", 1, "x = 1")
    net.run()
    del net.clients["c5"]
    most_ns = DEFAULTS.client_dead_ns + DEFAULTS.compare_ns + TOLD_NS
    net.run_until(lambda: net.brokers["1"].advertised_by(5) == (), most_ns)


def test_a_client_that_restarts_is_not_taken_for_its_former_self(net: Net) -> None:
    net.subscribe("c5", 1, "x = 1")
    net.run()
    net.client("c5", "5")
    net.subscriptions.clear()
    took = net.run_until(lambda: net.brokers["1"].advertised_by(5) == (), SECOND)
    assert took <= DELAY_NS + TOLD_NS


def test_a_restarted_broker_is_heard_over_its_former_self(net: Net) -> None:
    for name in ("c1", "c3", "c5"):
        net.subscribe(name, 1, "x = 1")
    net.run()
    net.start("3")
    # Its neighbours hear at once that it is another; its client when it next says HELLO.
    assert net.run_until(lambda: net.brokers["1"].advertised_by(3) == (), SECOND) <= MET_NS
    done = lambda: net.brokers["3"].advertised() != () and knows(net, "1", "3")()  # noqa: E731
    assert net.run_until(done, 2 * SECOND) <= DEFAULTS.hello_ns + 4 * DELAY_NS + TOLD_NS
    assert works(net)


def test_a_restarted_broker_with_a_lower_epoch_is_heard_too(net: Net) -> None:
    net.subscribe("c5", 1, "x = 1")
    net.run()
    # As if it had counted far in its former life.
    net.epochs["3"] = 40_000
    net.start("3")
    net.run()
    net.epochs["3"] = 10
    net.start("3")
    net.run(2 * SECOND)
    net.subscribe("c3", 1, "x = 1")
    net.run()
    assert knows(net, "1", "3")()
    assert net.brokers["3"].advertised() != ()
    assert works(net)


def test_a_broker_that_stays_away_is_routed_around_and_forgotten(net: Net) -> None:
    net.link("1", "5")
    for name in ("1", "5"):
        net.brokers[name].link_up("5" if name == "1" else "1", 1, now=net.now)
        net.drain(name)
    for name in ("c1", "c2", "c4", "c5"):
        net.subscribe(name, 1, "x = 1")
    net.run()
    net.stop("3")
    del net.clients["c3"]
    gone = lambda: all(3 not in b.reachable for b in net.brokers.values())  # noqa: E731
    assert net.run_until(gone, 5 * SECOND) <= DEFAULTS.dead_ns + ACROSS_NS
    assert works(net)
    net.run(DEFAULTS.expire_ns + DEFAULTS.compare_ns)
    assert all(b.advertised_by(3) == () for b in net.brokers.values())


@pytest.mark.parametrize("silently", [False, True])
def test_a_link_fails_and_another_way_is_taken(net: Net, silently: bool) -> None:
    net.link("1", "5")
    for name, peer in (("1", "5"), ("5", "1")):
        net.brokers[name].link_up(peer, 1, now=net.now)
        net.drain(name)
    for i in range(1, BROKERS + 1):
        net.subscribe(f"c{i}", 1, "x = 1")
    net.run()
    net.cut("1", "2", silently=silently)
    most_ns = (DEFAULTS.dead_ns if silently else 0) + ACROSS_NS

    def is_rerouted() -> bool:
        return net.brokers["1"]._routing.ports().get(2) == "5"

    assert net.run_until(is_rerouted, 5 * SECOND) <= most_ns
    assert works(net)


@pytest.mark.parametrize("silently", [False, True])
@pytest.mark.parametrize("apart_s", [5, 200])
def test_a_partition_heals(net: Net, silently: bool, apart_s: int) -> None:
    net.subscribe("c1", 1, "x = 1")
    net.subscribe("c5", 1, "x = 1")
    net.run()
    net.cut("2", "3", silently=silently)
    net.run(apart_s * SECOND)
    assert net.brokers["1"].reachable == [2]
    # Things change on both sides meanwhile.
    net.subscribe("c2", 1, "x = 1")
    net.unsubscribe("c5", 1)
    net.subscribe("c4", 1, "x = 1")
    net.run()
    net.mend("2", "3", silently=silently)
    done = lambda: all(  # noqa: E731
        knows(net, str(a), str(b))() for a in range(1, 6) for b in range(1, 6) if a != b
    )
    most_ns = MET_NS + (DEFAULTS.hello_ns if silently else 0)
    assert net.run_until(done, 5 * SECOND) <= most_ns
    assert works(net)


def drop_next(net: Net, kind: type[OverlayFrame], source: str, target: str) -> None:
    """The next such frame on one link is lost."""
    dropped: list[OverlayFrame] = []

    def lost(s: str, t: str, frame: OverlayFrame) -> bool:
        if not dropped and (s, t) == (source, target) and isinstance(frame, kind):
            dropped.append(frame)
            return True
        return False

    net.lost = lost


def test_a_lost_delta_is_noticed_by_the_next_one(net: Net) -> None:
    for number in range(3):
        net.subscribe("c5", number, f"x = {number}")
    net.run(100 * MILLISECOND)
    drop_next(net, Adv, "4", "3")
    net.subscribe("c5", 3, "x = 3")
    net.run(100 * MILLISECOND)
    assert len(net.brokers["4"].advertised_by(5)) == 4
    assert len(net.brokers["3"].advertised_by(5)) == 3
    net.subscribe("c5", 4, "x = 4")
    took = net.run_until(lambda: len(net.brokers["1"].advertised_by(5)) == 5, SECOND)
    # A question and its answer more than usual.
    assert took <= TOLD_NS + 2 * DELAY_NS


@pytest.mark.parametrize("kind", [Adv, Lsa])
def test_a_lost_change_with_nothing_after_it_is_found_by_comparing(
    net: Net, kind: type[OverlayFrame]
) -> None:
    drop_next(net, kind, "4", "3")
    net.subscribe("c5", 1, "x = 1")
    net.link("4", "6")
    net.start("6")
    net.brokers["4"].link_up("6", 1, now=net.now)
    net.drain("4")

    def done() -> bool:
        first = net.brokers["1"]
        return first.advertised_by(5) != () and 6 in first.reachable

    took = net.run_until(done, 10 * SECOND)
    assert took <= DEFAULTS.compare_ns + TOLD_NS + 2 * DELAY_NS


@pytest.mark.parametrize("kind", [Sub, Unsub])
def test_a_lost_word_of_a_client_does_no_lasting_harm(net: Net, kind: type[OverlayFrame]) -> None:
    if kind is Unsub:
        net.subscribe("c5", 1, "x = 1")
        net.run()
    drop_next(net, kind, "c5", "5")
    if kind is Unsub:
        net.unsubscribe("c5", 1)
        net.run(DEFAULTS.expire_ns + DEFAULTS.compare_ns + TOLD_NS)
        assert net.brokers["1"].advertised_by(5) == ()
    else:
        net.subscribe("c5", 1, "x = 1")
        net.run(DEFAULTS.refresh_ns + TOLD_NS)
        assert net.brokers["1"].advertised_by(5) != ()


def test_a_large_advert_comes_in_parts_and_survives_the_loss_of_one(net: Net) -> None:
    for number in range(300):
        net.subscribe("c5", number, f"x = {number}")
    net.run(100 * MILLISECOND)
    assert len(net.brokers["1"].advertised_by(5)) == 300
    before = net.brokers["1"].advertised_by(5)
    drop_next(net, Adv, "4", "3")
    for number in range(300):
        net.subscribe("c5", number, f"y = {number}")
    net.run(100 * MILLISECOND)
    parts = [f.parts for _, s, t, f in net.sent if isinstance(f, Adv) and (s, t) == ("5", "4")]
    assert parts[-7:] == [7] * 7
    assert net.brokers["4"].advertised_by(5) == net.brokers["5"].advertised()
    assert net.brokers["3"].advertised_by(5) == before
    net.run(DEFAULTS.compare_ns + TOLD_NS)
    assert net.brokers["1"].advertised_by(5) == net.brokers["5"].advertised()
    for number in range(250):
        net.unsubscribe("c5", number)
    net.run(100 * MILLISECOND)
    assert net.brokers["1"].advertised_by(5) == net.brokers["5"].advertised()
    assert len(net.brokers["5"].advertised()) == 50
