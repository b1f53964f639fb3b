"""Checks that no message is delivered twice, as far as the overlay can tell.

A PUB has no sequence number, and a client does not compare the frames it gets: a link that
duplicates either causes two deliveries, which the transport above removes by sequence number.
So the rules are:

- a broker sends a message to a client at most once for each arrival of the publisher's
  PUB, whatever links between brokers duplicate;
- an application gets it no more often than it arrived, and more than once in one life of
  its client only if one of the two access links duplicated it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from penstock.kernel.instant import Instant
from penstock.sim.checkers.base import Checker, describe_message, message_of
from penstock.sim.link import Link
from penstock.wire.frames.base import TransportFrame
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.notify import Notify
from penstock.wire.frames.pub import Pub


class NoDuplicates(Checker):
    """Counts each message at each step from PUB to delivery."""

    name = "once"

    def __init__(self) -> None:
        self._entered: Counter[MessageId] = Counter()
        self._notified: Counter[tuple[str, MessageId]] = Counter()
        self._arrived: Counter[tuple[str, MessageId]] = Counter()
        self._delivered: Counter[tuple[str, MessageId]] = Counter()
        # Per life: holding a replaced machine keeps its `id` unique.
        self._delivered_to_machine: Counter[tuple[int, MessageId]] = Counter()
        self._machines: dict[int, object] = {}

    def on_send(self, link: Link[Any], frame: Any, size_bytes: int, *, now: Instant) -> None:  # noqa: ARG002
        """Checks a NOTIFY that a broker sends."""
        if type(frame) is not Notify or self.runner.guarantees.corrupts_frames:
            return
        message = message_of(frame)
        assert message is not None
        broker, client = self.runner.access_links[link.name]
        self._notified[client, message.id] += 1
        if self._notified[client, message.id] > self._entered[message.id]:
            self.report_violation(
                broker,
                f"handed {describe_message(message)} to {client}"
                f" {self._notified[client, message.id]} times;"
                f" it entered the network {self._entered[message.id]} times",
            )

    def on_arrive(self, link: Link[Any], frame: Any, *, now: Instant) -> None:  # noqa: ARG002
        """Counts a PUB or a NOTIFY that arrives."""
        message = message_of(frame)
        if message is None:
            return
        if type(frame) is Pub:
            self._entered[message.id] += 1
        elif type(frame) is Notify:
            self._arrived[self.runner.access_links[link.name][1], message.id] += 1

    def on_deliver(self, client: str, frame: TransportFrame, *, now: Instant) -> None:  # noqa: ARG002
        """Checks a delivery."""
        if not isinstance(frame, Data) or self.runner.guarantees.corrupts_frames:
            return
        machine = self.runner.network.world.hosts[client].machine
        self._machines[id(machine)] = machine
        key, machine_key = (client, frame.id), (id(machine), frame.id)
        self._delivered[key] += 1
        self._delivered_to_machine[machine_key] += 1
        if self._delivered[key] > self._arrived[key]:
            self.report_violation(
                client, f"got {describe_message(frame)} more often than it arrived"
            )
        doubled = self._entered[frame.id] > 1 or self._arrived[key] > self._notified[key]
        if self._delivered_to_machine[machine_key] > 1 and not doubled:
            self.report_violation(client, f"got {describe_message(frame)} twice")
