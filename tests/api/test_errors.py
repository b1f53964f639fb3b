"""Errors: who inherits from whom, what they say, and that they survive pickling."""

from __future__ import annotations

import pickle

import pytest

from penstock.api import errors
from penstock.api.errors import (
    ClosedError,
    ConfigError,
    DurableError,
    GapError,
    NotConfirmedError,
    PenstockError,
    PoisonError,
    RefusedError,
    TooLargeError,
    TransferError,
    UnreachableError,
    UsageError,
)
from penstock.api.loss import Loss
from penstock.api.message import Fate
from penstock.content.syntax import FilterSyntaxError, parse
from tests.api.test_stream_message import Inbox


def gap(reason: str, *, durable: str | None = None, retention: str | None = None) -> GapError:
    loss = Loss(
        publisher="0" * 16,
        epoch=0,
        stream="orders",
        count=1204,
        fate=Fate.LOST,
        reason=reason,
        detected_ns=1,
        ended_ns=1,
    )
    return GapError(loss, durable, retention)


RAISED: list[tuple[PenstockError, str]] = [
    (
        RefusedError(
            "broker 10.0.0.7:7450 refused: it has its 4096 clients: raise broker.clients there,"
            " or use another broker",
            "full",
        ),
        "broker 10.0.0.7:7450 refused: it has its 4096 clients: raise broker.clients there,"
        " or use another broker",
    ),
    (
        TooLargeError(2004, 1209),
        "the message is too large, 2,004 bytes:"
        " attributes and payload may have 1,209 bytes together",
    ),
    (
        ConfigError(
            "broker.lisen is no key: did you mean listen?", "penstock.toml", 12, "broker.l"
        ),
        "penstock.toml:12: broker.lisen is no key: did you mean listen?",
    ),
    (
        DurableError(
            "durable 'billing' is read by host7 since 10:42:07Z: end that reader, or pass"
            " takeover=True",
            "billing",
            "in_use",
        ),
        "durable 'billing' is read by host7 since 10:42:07Z: end that reader, or pass"
        " takeover=True",
    ),
    (
        gap("retention", durable="billing", retention="10GB, drop"),
        "stream 'orders' gave up at most 1,204 messages that 'billing' had not read"
        " (retention 10GB, drop): iterate again to go on",
    ),
    (
        gap("damaged"),
        "stream 'orders' has at most 1,204 messages damaged on disk that this subscription had not"
        " read: iterate again to go on",
    ),
    (
        NotConfirmedError(1871, "no confirmation for 30 s"),
        "publication 1871 may or may not be stored: no confirmation for 30 s:"
        " repeat it with publication=1871",
    ),
    (
        PoisonError(Inbox().last, ("", "no such\naccount", "")),
        "message 0000000000000007.9 of 'orders' failed 1 time (no such account):"
        " pass checkpoint=error.message.checkpoint to skip it,"
        ' or poison="park"',
    ),
    (
        TransferError(
            "48 of 50 receivers have 'lab/model'; unfinished: node17 (disk full), node31 (silent):"
            " run the same command again to go on",
            None,
            ("node17", "node31"),
        ),
        "48 of 50 receivers have 'lab/model'; unfinished: node17 (disk full), node31 (silent):"
        " run the same command again to go on",
    ),
    (ClosedError("this node is closed: connect again"), "this node is closed: connect again"),
]
IDS = [type(error).__name__ for error, _ in RAISED]


@pytest.mark.parametrize(("error", "text"), RAISED, ids=IDS)
def test_an_error_is_one_line_for_a_person(error: PenstockError, text: str) -> None:
    assert str(error) == text
    assert "\n" not in text


@pytest.mark.parametrize("error", [error for error, _ in RAISED], ids=IDS)
def test_an_error_survives_pickling(error: PenstockError) -> None:
    other = pickle.loads(pickle.dumps(error))
    assert (type(other), str(other), vars(other)) == (type(error), str(error), vars(error))


@pytest.mark.parametrize("name", errors.__all__)
def test_every_error_is_one_of_ours(name: str) -> None:
    assert issubclass(getattr(errors, name), PenstockError)


def test_errors_are_those_that_programs_know_already() -> None:
    for kind in (FilterSyntaxError, ConfigError, TooLargeError):
        assert issubclass(kind, UsageError)
    assert issubclass(UsageError, ValueError)
    assert issubclass(UnreachableError, ConnectionError)
    assert issubclass(RefusedError, ConnectionError)
    assert issubclass(NotConfirmedError, TimeoutError)
    assert errors.FilterSyntaxError is FilterSyntaxError


def test_errors_say_to_programs_what_they_say_to_people() -> None:
    refused = RefusedError("not here", "not_here", "tcp://10.0.0.8:7451")
    assert (refused.reason, refused.address) == ("not_here", "tcp://10.0.0.8:7451")
    assert RefusedError("full", "full").address is None
    config = ConfigError("text", "penstock.toml", 12, "broker.lisen")
    assert (config.file, config.line, config.key) == ("penstock.toml", 12, "broker.lisen")
    assert gap("recreated").loss.count == 1204
    with pytest.raises(FilterSyntaxError) as caught:
        parse("price <")
    assert (caught.value.line, caught.value.column) == (1, 8)


@pytest.mark.parametrize("reason", ["recreated", "rolled_back", "uncertain"])
def test_a_gap_says_what_happened_to_the_stream(reason: str) -> None:
    assert str(gap(reason)).startswith("stream 'orders' ")
    assert "at most 1,204 messages that this subscription had not read" in str(gap(reason))
