"""Whatever a client asks for, a broker answers: nothing that it may write raises an exception."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from penstock.guaranteed.client import Answered, ClientFact, SubscriptionOptions
from penstock.guaranteed.stream_item import EVERYTHING
from penstock.kernel.instant import SECOND
from penstock.sim.guaranteed.network import StreamNetwork
from penstock.sim.guaranteed.sim_client import SimClient
from penstock.wire.codec.guaranteed.body import write_body
from penstock.wire.frames.guaranteed.base import Start, StartKind
from penstock.wire.frames.guaranteed.client import Answer, Refused

LONG = "é" * 5_000
# What each verb takes.
VERBS = {
    "list": ("after",),
    "durables": ("after", "only"),
    "seek": ("durable", "start", "value", "pubend"),
    "parked": ("durable", "action", "skip", "pubend", "tick"),
    "forget": ("durable", "host"),
    "status": (),
    "create": ("stream", "retention", "slow_host"),
    "change": ("stream", "size_bytes", "age_ns", "drops"),
    "delete": ("stream",),
    "nothing": ("stream",),
}


class Asking:
    """A broker with a stream, which a durable name reads, and a client that asks."""

    def __init__(self) -> None:
        self.answers: dict[int, Answer | Refused] = {}
        self._network = StreamNetwork(1, with_codec=True)
        self._network.add_broker("b1", streams={7: "orders"})
        self._client = self._network.add_client("c", "b1", self._on_fact)
        self._client.connect()
        self._network.run(SECOND // 10)
        self._client.call(
            lambda client: client.publish("orders", write_body({"n": 1}, b"x", bytes_max=100))
        )
        self.subscribe("all", ["orders"])

    def subscribe(self, durable: str, streams: list[str]) -> None:
        """Reads with a durable name from now on."""
        options = SubscriptionOptions(
            streams=tuple(streams),
            predicate=EVERYTHING,
            durable=durable,
            start=Start(StartKind.FIRST),
        )
        self._client.call(lambda client: client.subscribe(options))
        self._network.run(SECOND // 2)

    def ask(self, *requests: tuple[str, bytes]) -> list[Answer | Refused]:
        """Sends all at once; all are answered."""
        numbers: list[int] = []
        for verb, arguments in requests:
            numbers.append(self._client.machine.ask(verb, arguments))
        self._client.call(lambda _client: None)
        for _ in range(100):
            self._network.run(SECOND // 10)
            if all(number in self.answers for number in numbers):
                break
        return [self.answers[number] for number in numbers]

    def _on_fact(self, _client: SimClient, fact: ClientFact) -> None:
        if isinstance(fact, Answered):
            self.answers[fact.request] = fact.answer


NAMES = ("orders", "all", "b1", "new", "other", "", LONG, "\x00" * 64, "a/b", "\udcff")
NUMBERS = (0, 1, 10, -1, 2**63 - 1, 2**63, 2**64 - 2, 2**64, 10**30, 10**3_000, 0.5, None)
VALUES: dict[str, Sequence[Any]] = {
    **dict.fromkeys(("after", "only", "durable", "stream", "host"), NAMES),
    **dict.fromkeys(("value", "tick", "skip", "size_bytes", "age_ns"), NUMBERS),
    "start": ("first", "now", "tick", "time", LONG),
    "pubend": ("", "7", "0" * 15 + "7", "-7", "7" * 9_000, "0x7", "f" * 16, " 7", "٧"),
    "action": ("list", "retry", "discard", ""),
    "slow_host": ("throttle", "lag", LONG),
    "drops": (True, False, 1),
}
ODD = (b"", b"{", b"[" * 50_000, b"null", b"[]", b"\xff", b'{"stream": {}}', b"1e400")


def drawn(rng: Random) -> tuple[str, bytes]:
    """A request: most of what it says is of the kind that the verb takes."""
    verb = rng.choice(sorted(VERBS))
    if not rng.randrange(20):
        return verb, rng.choice(ODD)

    def value(field: str) -> Any:
        if not rng.randrange(30):
            field = rng.choice(sorted(VALUES))
        if field == "retention":
            return {limit: value(limit) for limit in ("size_bytes", "age_ns", "drops")}
        return rng.choice(VALUES[field])

    arguments = {field: value(field) for field in VERBS[verb] if rng.randrange(5)}
    return verb, json.dumps(arguments).encode()


@pytest.mark.parametrize("seed", range(3))
def test_every_request_is_answered(seed: int) -> None:
    rng, asking = Random(seed), Asking()
    answers: list[Answer | Refused] = []
    for batch in range(50):
        if not batch % 5:
            # It may have been forgotten, and its stream deleted.
            asking.ask(("create", b'{"stream": "orders"}'))
            asking.subscribe("all", ["orders"])
        answers += asking.ask(*(drawn(rng) for _ in range(20)))
    reasons = {answer.reason for answer in answers if isinstance(answer, Refused)}
    assert {"bad_request", "unknown", "unknown_stream", "unknown_verb", "exists"} <= reasons
    assert any(isinstance(answer, Answer) for answer in answers)


@pytest.mark.parametrize(
    ("verb", "sent"),
    [
        ("delete", {"stream": LONG}),
        ("change", {"stream": LONG}),
        ("create", {"stream": LONG}),
        ("forget", {"durable": LONG}),
        ("forget", {"host": LONG}),
        ("seek", {"durable": LONG, "start": "first"}),
        ("seek", {"durable": "all", "start": "tick", "pubend": "1" * 9_000}),
        ("parked", {"durable": LONG}),
        ("parked", {"durable": "all", "action": "discard", "pubend": "1" * 9_000}),
        ("parked", {"durable": "all", "action": "retry", "pubend": "7", "tick": 10**3_000}),
        ("durables", {"only": LONG}),
        ("change", {"stream": "orders", "size_bytes": 10**30}),
        ("change", {"stream": "orders", "age_ns": 10**30}),
        ("create", {"stream": "new", "retention": {"size_bytes": 2**63}}),
        ("create", {"stream": "new", "retention": {"age_ns": 10**30}}),
    ],
)
def test_what_is_too_long_or_too_large_is_a_bad_request(verb: str, sent: dict[str, Any]) -> None:
    (answer,) = Asking().ask((verb, json.dumps(sent).encode()))
    assert isinstance(answer, Refused)
    assert answer.reason == "bad_request"


def test_a_refusal_is_cut_to_what_a_frame_takes() -> None:
    """A durable name that reads many streams of long names: all of them are in the text."""
    asking = Asking()
    streams = [f"{number:02}{'s' * 62}" for number in range(64)]
    asking.ask(*(("create", json.dumps({"stream": name}).encode()) for name in streams))
    asking.subscribe("many", streams)
    sent = {"durable": "many", "start": "tick", "pubend": "7", "value": 5}
    (answer,) = asking.ask(("seek", json.dumps(sent).encode()))
    assert isinstance(answer, Refused)
    assert answer.reason == "unknown"
    assert answer.text.endswith("...")
