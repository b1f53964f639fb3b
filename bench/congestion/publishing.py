"""A publisher whose flows others limit: how many messages a second it sends.

Messages go through a real endpoint that has congestion control, as a driver would have
it: each is offered, what comes out is taken away, and what is due is done. They come
20 µs apart, which is 50 000 a second.

Filters have two equalities, or one and a range; so many are asked for by receivers
that report twice a second, and a message of five to ten attributes is in two or three
of them, whatever their number. Unless a tenth of them is `slow` all may have all they
want; then what is in these waits, and more is dropped.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random
from time import process_time
from typing import Final

from penstock.content.constraint import Constraint, Op
from penstock.content.filter import Filter
from penstock.content.message import Message
from penstock.content.tags import Encoder
from penstock.kernel.instant import MICROSECOND, MILLISECOND, SECOND, Instant
from penstock.kernel.machine import Send
from penstock.kernel.seeds import Seeds
from penstock.testing.loopback_network import LoopbackNetwork
from penstock.transport.congestion.settings import DEFAULT, CongestionSettings
from penstock.transport.endpoint import Endpoint
from penstock.transport.settings import EndpointSettings, RecordSettings
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data
from penstock.wire.frames.feedback import Feedback, FlowRequest
from penstock.wire.quantise import encode_round_trip, quantise_rate, stamp_us

MESSAGES: Final = 2_000
INTERVAL_NS: Final = 20 * MICROSECOND
REPORT_NS: Final = 500 * MILLISECOND
NEW_EVERY_NS: Final = 5 * MILLISECOND
PUBLISHER: Final = 1
FIRST_RECEIVER: Final = 1_000
ALL_MPS: Final = quantise_rate(60_000.0)
SLOW_MPS: Final = quantise_rate(10.0)
PRICE_MAX: Final = 100
_R_CODE: Final = encode_round_trip(50 * MILLISECOND)
_CONTROL: Final = replace(DEFAULT, initial_rate_mps=ALL_MPS, policy="drop-oldest")


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishingCase:
    """One case."""

    flows: int
    slow_every: int = 0
    is_controlled: bool = True
    # How many messages before it each tells of.
    record: int = 0

    @property
    def name(self) -> str:
        """As it is printed."""
        flows = f"{self.flows:,} flows" if self.is_controlled else "without congestion control"
        slow = ", a tenth of them slow" if self.slow_every else ""
        return f"{flows}{slow}{f', a record of {self.record}' if self.record else ''}"


class Publishing:
    """An endpoint, its flows, and time."""

    def __init__(self, case: PublishingCase, encoder: Encoder) -> None:
        self.case: Final = case
        settings: CongestionSettings | None = _CONTROL if case.is_controlled else None
        self.endpoint: Final[Endpoint[TransportFrame]] = Endpoint(
            LoopbackNetwork(),
            endpoint_id=PUBLISHER,
            epoch=1,
            encoder=encoder,
            settings=EndpointSettings(congestion=settings, record=RecordSettings(size=case.record)),
            draw=Seeds(1).rng("draws").random,
        )
        self.filters: Final = list(filters(case.flows))
        self.messages: Final = list(messages(max(case.flows, 10), MESSAGES))
        self.sent: Final[list[Data]] = []
        self.now: Instant = SECOND
        # The flows' numbers, once they have any.
        self._ids: dict[Filter, int] = {}
        self._report_at = self.now

    def begin(self) -> None:
        """Somebody publishes, and each flow is asked for."""
        self._submit(Message({"kind": "first"}))
        self.report()
        # To ask for all took seconds: those that were first are not to be given up.
        self._report_at = self.now
        self.report()

    def seconds(self, count: int) -> float:
        """How long so many messages take; what receivers say meanwhile is not counted."""
        spent_s = 0.0
        gc.collect()
        gc.disable()
        for first in range(0, count, 500):
            self.report()
            # Not the clock on the wall: what others do on the machine does not count.
            start = process_time()
            for number in range(first, min(first + 500, count)):
                self._submit(self.messages[number % len(self.messages)])
            spent_s += process_time() - start
        gc.enable()
        return spent_s

    def report(self) -> None:
        """All receivers have their say, if it is time for it; the first time it is."""
        if not self.case.is_controlled or self.now < self._report_at:
            return
        for feedback in list(self.feedback()):
            if not self._ids:
                # Of receivers that are new only so many are heard in a second.
                self.now += NEW_EVERY_NS
            self.endpoint.receive(feedback, via="", now=self.now)
            self._drain()
        self._report_at = self.now + REPORT_NS
        congestion = self.endpoint.congestion
        assert congestion is not None
        self._ids = {
            flow.filter: flow.id for flow in congestion.controlled_flows if flow.filter is not None
        }

    def feedback(self) -> Iterator[Feedback]:
        """Of each receiver one: what it limits, by its number if it has one."""
        for number, filter_ in enumerate(self.filters):
            slow = self.case.slow_every and number % self.case.slow_every == 0
            quota_mps = SLOW_MPS if slow else ALL_MPS
            request = FlowRequest(quota_mps=quota_mps, filter=filter_)
            if filter_ in self._ids:
                request = FlowRequest(quota_mps=quota_mps, flow_id=self._ids[filter_])
            yield Feedback(
                subscriber=FIRST_RECEIVER + number,
                pub=PUBLISHER,
                send_ts_us=stamp_us(self.now, 32),
                feedback_round=0,
                round_trip_code=_R_CODE,
                has_loss=True,
                requests=(request,),
            )

    def _submit(self, message: Message) -> None:
        endpoint = self.endpoint
        self.now += INTERVAL_NS
        while (at := endpoint.next_wakeup()) is not None and at <= self.now:
            endpoint.wake(now=at)
            self._drain()
        endpoint.submit(message, now=self.now)
        self._drain()

    def _drain(self) -> None:
        poll = self.endpoint.poll
        while (output := poll()) is not None:
            if type(output) is Send and type(output.frame) is Data:
                self.sent.append(output.frame)


def filters(count: int) -> Iterator[Filter]:
    """Half are a topic and a range of prices, half a region and a kind; none covers another."""
    topics = max(1, count // 4)
    for each in range(count):
        half, is_pair = divmod(each, 2)
        if is_pair:
            yield Filter(
                [Constraint("region", Op.EQ, half % 10), Constraint("kind", Op.EQ, half // 10)]
            )
        else:
            low = half // topics * PRICE_MAX // 10
            yield Filter(
                [
                    Constraint("topic", Op.EQ, f"topic {half % topics}"),
                    Constraint("price", Op.GE, low),
                    Constraint("price", Op.LT, low + PRICE_MAX * 0.7),
                ]
            )


def messages(flows: int, count: int) -> Iterator[Message]:
    """Of five to ten attributes, for so many filters."""
    rng: Random = Seeds(1).rng("congestion", "messages")
    topics, kinds = max(1, flows // 4), max(1, flows // 20)
    for _ in range(count):
        details = {f"detail{i}": rng.randrange(1_000) for i in range(rng.randint(1, 6))}
        yield Message(
            {
                "topic": f"topic {rng.randrange(topics)}",
                "price": rng.uniform(0, PRICE_MAX),
                "region": rng.randrange(10),
                "kind": rng.randrange(kinds),
                **details,
            }
        )
