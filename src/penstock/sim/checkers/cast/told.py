"""Whoever does not get the object is named to its sender, or is told.

When the time of faults is over, an offer reaches everybody who wants it. A node that had the
object, or had left, and has restarted since knows nothing of the transfer: it may be named or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.kernel.instant import Duration, Instant
from penstock.sim.cast.cast_applications import ReceivingProgram, SendingProgram
from penstock.sim.cast.cast_network import CastNetwork
from penstock.sim.cast.stream_programs import ReadingProgram, WritingProgram
from penstock.sim.checkers.cast.base import CastChecker


class ToldChecker(CastChecker):
    """Looks at the ends of transfers."""

    name = "told"

    def __init__(
        self,
        network: CastNetwork,
        sender: SendingProgram | WritingProgram,
        receivers: Sequence[ReceivingProgram | ReadingProgram],
        *,
        silence_ns: Duration,
        may_fail: bool,
    ) -> None:
        super().__init__()
        self._network: Final = network
        self._sender: Final = sender
        self._receivers: Final = receivers
        self._silence_ns: Final = silence_ns
        # Whether faults last so long that receivers are given up.
        self._may_fail: Final = may_fail
        self._looked_at = 0
        # Who has to be told, and until when.
        self._due: Final[list[tuple[Instant, ReceivingProgram | ReadingProgram, int]]] = []
        # What is offered later is hindered by nothing.
        self.peace_at: Instant | None = None

    def sample(self, network: CastNetwork) -> None:
        """Looks at the transfers that have ended since."""
        now = network.events.now
        finished = self._sender.finished[self._looked_at :]
        self._looked_at += len(finished)
        for at, fact in finished:
            offered_at = max(begun for begun, _ in self._sender.offers if begun <= at)
            is_peace = self.peace_at is not None and offered_at > self.peace_at
            failed = tuple(node for node in fact.failed if not self._is_forgetful(node, offered_at))
            if failed and (is_peace or not self._may_fail):
                self.report(f"{failed} have failed, with nothing to hinder them for long")
            for receiver in self._receivers:
                is_named = network.nodes[receiver.node].number in fact.failed
                if receiver.is_subscribed and not receiver.is_complete and not is_named:
                    self._due.append((now + self._silence_ns, receiver, len(receiver.stopped)))
        for entry in list(self._due):
            until, receiver, before = entry
            was_told = len(receiver.stopped) > before or not receiver.is_subscribed
            if was_told or receiver.is_complete or self._sender.is_running:
                # In the next transfer it takes part again.
                self._due.remove(entry)
            elif now > until and not self._waits(receiver):
                self.report(f"{receiver.node} does not know that it will not get the object")
                self._due.remove(entry)

    def _is_forgetful(self, number: int, offered_at: Instant) -> bool:
        """Whether a node took part in an earlier life only, and nobody knew before the offer."""
        for receiver in self._receivers:
            node = self._network.nodes[receiver.node]
            if node.number != number:
                continue
            if not node.is_up:
                return receiver.is_complete or not receiver.is_wanted
            known_ns = self._network.settings.controller.rejoin_ns
            at = receiver.forgotten_at
            return at is not None and at + known_ns > offered_at
        return False

    def _waits(self, receiver: ReceivingProgram | ReadingProgram) -> bool:
        """Whether it has not been offered anything yet."""
        machine = self._network.nodes[receiver.node].machine
        return machine.is_waiting(self._sender.offer.item)

    def at_end(self, network: CastNetwork) -> None:
        """Everybody who wants it has it."""
        self.sample(network)
        for receiver in self._receivers:
            if receiver.is_wanted and not receiver.is_complete:
                self.report(f"{receiver.node} has not got the object")
