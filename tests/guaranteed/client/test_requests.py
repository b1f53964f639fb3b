"""Requests of a client that are still open when a connection is lost."""

from __future__ import annotations

from penstock.guaranteed.client import BROKER, Answered, Client
from penstock.kernel.machine import Deliver, Send
from penstock.wire.frames.guaranteed.client import Answer, Ask, Refused, Welcome


class Asking:
    """A client whose connections come and go."""

    def __init__(self) -> None:
        self.client = Client("p", 1)

    def connection(self) -> tuple[list[Ask], list[Answered]]:
        """What is sent on a new connection, and told, until it is lost."""
        sent: list[Ask] = []
        told: list[Answered] = []
        self.client.connection_up()
        self.client.receive(Welcome(broker="b", message_bytes_max=100), via=BROKER, now=0)
        while (output := self.client.poll()) is not None:
            if isinstance(output, Send) and isinstance(output.frame, Ask):
                sent.append(output.frame)
            elif isinstance(output, Deliver) and isinstance(output.item, Answered):
                told.append(output.item)
        return sent, told


def test_a_request_is_repeated_but_not_for_ever() -> None:
    asking = Asking()
    number = asking.client.ask("delete", b"{}")
    for _ in range(3):
        (sent,), told = asking.connection()
        assert (sent.number, told) == (number, [])
        asking.client.connection_down()
    sent_again, (given_up,) = asking.connection()
    assert sent_again == []
    assert given_up.request == number
    assert isinstance(given_up.answer, Refused)
    assert given_up.answer.reason == "no_answer"
    assert "'delete' is not answered: 3 connections were lost" in given_up.answer.text
    asking.client.connection_down()
    assert asking.connection() == ([], [])


def test_what_is_answered_or_withdrawn_is_not_repeated() -> None:
    asking = Asking()
    answered, withdrawn, left = (asking.client.ask("list", b"{}") for _ in range(3))
    asking.connection()
    asking.client.receive(Answer(number=answered, result=b"{}"), via=BROKER, now=0)
    asking.client.withdraw(withdrawn)
    asking.client.connection_down()
    sent, _ = asking.connection()
    assert [ask.number for ask in sent] == [left]
