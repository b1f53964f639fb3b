"""TCP flows over a link that loses at random, and over a bottleneck that they share."""

from __future__ import annotations

from heapq import heappop, heappush
from math import sqrt
from random import Random

import pytest

from penstock.kernel.instant import MILLISECOND, SECOND, Duration, Instant
from penstock.kernel.seeds import Seeds
from penstock.sim.tcp import Ack, Cubic, NewReno, Segment, TcpReceiver, TcpSender

Frame = Segment | Ack


class Path:
    """Flows over one path: random loss, then a drop-tail queue at a rate, then half the RTT."""

    def __init__(
        self,
        senders: list[TcpSender],
        *,
        rtt_ns: Duration,
        loss: float = 0.0,
        rng: Random | None = None,
        segment_ns: Duration = 0,
        queue: int = 10**9,
        delayed_acks: bool = False,
    ) -> None:
        self.senders = senders
        self.receivers = [TcpReceiver(delayed_acks=delayed_acks) for _ in senders]
        self.now: Instant = 0
        self.lost = 0
        self._half_ns = rtt_ns // 2
        self._loss, self._rng = loss, rng or Random(0)
        self._segment_ns, self._queue = segment_ns, queue
        self._free_at: Instant = 0
        self._events: list[tuple[Instant, int, int, bool, Frame]] = []
        self._serial = 0

    def start(self, flow: int) -> None:
        self.senders[flow].start(now=self.now)
        self._drain(flow)

    def run(self, until: Instant) -> None:
        while True:
            wakes = [end.next_wakeup() for end in self.senders]
            wakes += [end.next_wakeup() for end in self.receivers]
            wakes += [event[0] for event in self._events[:1]]
            at = min(wake for wake in wakes if wake is not None)
            if at > until:
                break
            self.now = at
            if self._events and self._events[0][0] == at:
                _, _, flow, forward, frame = heappop(self._events)
                end: TcpSender | TcpReceiver
                end = self.receivers[flow] if forward else self.senders[flow]
                end.receive(frame, via="path", now=at)
                self._drain(flow)
                continue
            for flow, (sender, receiver) in enumerate(
                zip(self.senders, self.receivers, strict=True)
            ):
                sender.wake(now=at)
                receiver.wake(now=at)
                self._drain(flow)
        self.now = until

    def _drain(self, flow: int) -> None:
        while (out := self.senders[flow].poll()) is not None:
            self._forward(flow, out.frame)
        while (out := self.receivers[flow].poll()) is not None:
            self._arrive(flow, False, out.frame, self.now + self._half_ns)

    def _forward(self, flow: int, frame: Frame) -> None:
        waiting_ns = max(0, self._free_at - self.now)
        is_full = self._segment_ns and waiting_ns // self._segment_ns >= self._queue
        if self._rng.random() < self._loss or is_full:
            self.lost += 1
            return
        self._free_at = self.now + waiting_ns + self._segment_ns
        self._arrive(flow, True, frame, self._free_at + self._half_ns)

    def _arrive(self, flow: int, forward: bool, frame: Frame, at: Instant) -> None:
        self._serial += 1
        heappush(self._events, (at, self._serial, flow, forward, frame))


def response(p: float, rtt_s: float) -> float:
    """Segments a second by the response function of TCP-friendly rate control."""
    return 1 / (rtt_s * (sqrt(2 * p / 3) + 12 * sqrt(3 * p / 8) * p * (1 + 32 * p * p)))


def sender(window: NewReno | Cubic, rtt_ns: Duration) -> TcpSender:
    # The response function takes the retransmission timer for four round trips.
    return TcpSender("path", window, rto_min_ns=4 * rtt_ns)


@pytest.mark.parametrize("rtt_ms", [10, 50, 200])
@pytest.mark.parametrize("loss", [0.001, 0.005, 0.02, 0.05])
def test_newreno_agrees_with_the_response_function(loss: float, rtt_ms: int) -> None:
    rtt_ns = rtt_ms * MILLISECOND
    expected = response(loss, rtt_ms / 1000)
    flow = sender(NewReno(), rtt_ns)
    flow.window.threshold = 50  # a first slow start without limit would be all that is measured
    path = Path([flow], rtt_ns=rtt_ns, loss=loss, rng=Seeds(1).rng("loss", str(loss), str(rtt_ms)))
    path.start(0)
    warm = int(200 * rtt_ns)
    path.run(warm)
    before = flow.acknowledged
    seconds = 20_000 / expected
    path.run(warm + int(seconds * SECOND))
    assert (flow.acknowledged - before) / seconds == pytest.approx(expected, rel=0.2)


@pytest.mark.parametrize("algorithm", [NewReno, Cubic])
def test_two_equal_flows_share_a_bottleneck_evenly(algorithm: type[NewReno | Cubic]) -> None:
    rtt_ns = 40 * MILLISECOND
    path = Path(
        [sender(algorithm(), rtt_ns) for _ in range(2)],
        rtt_ns=rtt_ns,
        segment_ns=2 * MILLISECOND,  # 6 Mbit/s
        queue=25,
    )
    path.start(0)
    path.run(3 * SECOND)
    path.start(1)
    path.run(30 * SECOND)
    before = [flow.acknowledged for flow in path.senders]
    path.run(230 * SECOND)
    rates = [(f.acknowledged - b) / 200 for f, b in zip(path.senders, before, strict=True)]
    assert sum(rates) > 0.9 * 500
    assert max(rates) / min(rates) < 1.25


@pytest.mark.parametrize("algorithm", [NewReno, Cubic])
@pytest.mark.parametrize("delayed_acks", [False, True])
def test_everything_arrives_in_the_end(
    algorithm: type[NewReno | Cubic], delayed_acks: bool
) -> None:
    flow = sender(algorithm(), 20 * MILLISECOND)
    path = Path(
        [flow],
        rtt_ns=20 * MILLISECOND,
        loss=0.1,
        rng=Seeds(2).rng("loss"),
        delayed_acks=delayed_acks,
    )
    path.start(0)
    path.run(60 * SECOND)
    receiver = path.receivers[0]
    assert flow.acknowledged > 1000
    # Nothing is counted twice, and nothing is acknowledged that did not arrive.
    assert flow.acknowledged <= receiver.expected <= receiver.received
    assert receiver.received <= flow.sent - path.lost


def test_without_loss_the_window_fills_the_path_and_nothing_is_sent_twice() -> None:
    flow = TcpSender("path", NewReno(), window_max=40)
    path = Path([flow], rtt_ns=100 * MILLISECOND)
    path.start(0)
    path.run(10 * SECOND)
    assert flow.resent == 0
    assert flow.timeouts == 0
    assert flow.acknowledged == pytest.approx(10 * 400, rel=0.06)


def test_a_dead_path_is_probed_ever_more_seldom() -> None:
    flow = TcpSender("path", NewReno())
    path = Path([flow], rtt_ns=10 * MILLISECOND, loss=1.0)
    path.start(0)
    path.run(200 * SECOND)
    assert 5 <= flow.timeouts <= 10
    assert flow.window.size == 1.0


def test_limited_transmit_spares_timeouts_where_windows_are_small() -> None:
    timeouts = []
    for limited in (False, True):
        flow = TcpSender("path", NewReno(), limited_transmit=limited)
        path = Path([flow], rtt_ns=50 * MILLISECOND, loss=0.05, rng=Seeds(3).rng("loss"))
        path.start(0)
        path.run(100 * SECOND)
        timeouts.append(flow.timeouts / flow.acknowledged)
    assert timeouts[1] < 0.7 * timeouts[0]
