"""Frames between a client and its broker that are about the connection."""

from __future__ import annotations

from enum import IntEnum

from penstock.wire.frames.base import check_type, check_unsigned
from penstock.wire.frames.guaranteed.base import (
    ADDRESS_BYTES_MAX,
    ARGUMENTS_BYTES_MAX,
    RESULT_BYTES_MAX,
    TEXT_BYTES_MAX,
    ClientFrame,
    check_bytes,
    check_name,
    cut_text,
)
from penstock.wire.frames.texts import check_text


class Connect(ClientFrame, frozen=True, kw_only=True, gc=False):
    """CONNECT: the first frame of a client."""

    # The name under which publications are numbered; ids rise across connections.
    publisher: str
    # Higher after each restart of the client: a newer one ends the connection of an older one.
    life: int

    def __post_init__(self) -> None:
        check_name("the name of a publisher", self.publisher)
        check_unsigned(64, life=self.life)


class Welcome(ClientFrame, frozen=True, kw_only=True, gc=False):
    """WELCOME: the answer to CONNECT."""

    broker: str
    message_bytes_max: int

    def __post_init__(self) -> None:
        check_name("the name of a broker", self.broker)
        check_unsigned(32, message_bytes_max=self.message_bytes_max)


class CreditKind(IntEnum):
    """What a credit is for."""

    STREAM = 0
    SUBSCRIPTION = 1


class Credit(ClientFrame, frozen=True, kw_only=True, gc=False):
    """CREDIT: so many more messages and bytes may be sent."""

    kind: CreditKind
    # The number of a stream or of a subscription, as PUBLISH and ATTACH name it.
    number: int
    messages: int
    size_bytes: int

    def __post_init__(self) -> None:
        check_type(CreditKind, kind=self.kind)
        check_unsigned(32, number=self.number, messages=self.messages)
        check_unsigned(64, size_bytes=self.size_bytes)


class Ask(ClientFrame, frozen=True, kw_only=True, gc=False):
    """REQUEST: a rare verb, such as `create` or `status`, with its arguments as JSON."""

    number: int
    verb: str
    arguments: bytes

    def __post_init__(self) -> None:
        check_unsigned(32, number=self.number)
        check_name("a verb", self.verb)
        check_bytes("the arguments of a request", self.arguments, ARGUMENTS_BYTES_MAX)


class Answer(ClientFrame, frozen=True, kw_only=True, gc=False):
    """RESULT: the answer to a REQUEST, as JSON."""

    number: int
    result: bytes

    def __post_init__(self) -> None:
        check_unsigned(32, number=self.number)
        check_bytes("the result of a request", self.result, RESULT_BYTES_MAX)


class RefusedKind(IntEnum):
    """What was refused."""

    CONNECTION = 0
    PUBLICATION = 1
    SUBSCRIPTION = 2
    REQUEST = 3


class Refused(ClientFrame, frozen=True, kw_only=True, gc=False):
    """REFUSED: the broker says no, why, and where else to go."""

    kind: RefusedKind
    # The id of a publication, or the number of a subscription or request; 0 for a connection.
    number: int
    # A word for programs, such as `stream_full`.
    reason: str
    # One line for a person.
    text: str
    # Of a broker that would take it; "" for none.
    address: str = ""

    def __post_init__(self) -> None:
        check_type(RefusedKind, kind=self.kind)
        check_unsigned(64, number=self.number)
        check_name("a reason", self.reason)
        check_text("the text of a refusal", self.text, TEXT_BYTES_MAX)
        check_text("an address", self.address, ADDRESS_BYTES_MAX)


def refusal(kind: RefusedKind, number: int, reason: str, text: str, address: str = "") -> Refused:
    """REFUSED with as much of a text as a frame takes: it may quote what a peer has sent."""
    return Refused(kind=kind, number=number, reason=reason, text=cut_text(text), address=address)


class ClientPing(ClientFrame, frozen=True, kw_only=True, gc=False):
    """PING: says nothing but that the sender is there."""
