"""A program that sends requests and reads the answers."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from penstock.guaranteed.client import Answered, ClientFact, Fenced
from penstock.kernel.instant import MILLISECOND
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.sim_client import SimClient
from penstock.wire.frames.guaranteed.client import Answer, Refused


class Operator:
    """Asks one broker."""

    def __init__(self, network: StreamNetwork, broker: str) -> None:
        self._network: Final = network
        self.client: Final = network.add_client(f"operator@{broker}", broker, self._on_fact)
        self.fenced: Final[list[Fenced]] = []
        self._answers: Final[dict[int, Answer | Refused]] = {}
        self.client.connect()
        network.run(50 * MILLISECOND)

    def ask(self, verb: str, /, **arguments: Any) -> Any:
        """The answer, or the refusal."""
        return self.ask_raw(verb, msgspec.json.encode(arguments))

    def ask_raw(self, verb: str, arguments: bytes) -> Any:
        """The same with bytes that may be no JSON."""
        number = self.client.call(lambda client: client.ask(verb, arguments))
        self._network.run(200 * MILLISECOND)
        answer = self._answers[number]
        return answer if isinstance(answer, Refused) else msgspec.json.decode(answer.result)

    def _on_fact(self, _client: SimClient, fact: ClientFact) -> None:
        if isinstance(fact, Answered):
            self._answers[fact.request] = fact.answer
        elif isinstance(fact, Fenced):
            self.fenced.append(fact)
