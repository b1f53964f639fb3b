from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.content.message import Message
from penstock.kernel.errors import PeerError, UsageError
from penstock.wire.codec.guaranteed.body import read_attributes_of, read_payload_of, write_body
from tests.wire.strategies import messages

BODY = bytes.fromhex("0004 81 a161 01 eeff")


def test_the_bytes_are_those_of_the_picture() -> None:
    assert write_body({"a": 1}, b"\xee\xff") == BODY
    assert read_attributes_of(BODY) == {"a": 1}
    assert read_payload_of(BODY) == b"\xee\xff"
    assert write_body({}) == b"\0\1\x80"


@given(messages())
def test_a_body_round_trips(message: Message) -> None:
    body = write_body(message.attributes, message.payload)
    again = Message.trusted(read_attributes_of(body), read_payload_of(body))
    assert again == message
    assert write_body(again.attributes, again.payload) == body


@given(st.one_of(st.binary(max_size=40), st.binary(max_size=40).map(lambda tail: b"\0\4" + tail)))
def test_noise_is_refused_or_canonical(body: bytes) -> None:
    try:
        attributes, payload = read_attributes_of(body), read_payload_of(body)
    except PeerError:
        return
    assert write_body(attributes, payload) == body


@pytest.mark.parametrize("end", range(6))
def test_a_truncated_body_is_refused(end: int) -> None:
    for read in (read_attributes_of, read_payload_of):
        with pytest.raises(PeerError, match="ends in"):
            read(BODY[:end])


def test_the_largest_body_has_a_mebibyte() -> None:
    payload = bytes((1 << 20) - 6)
    body = write_body({"a": 1}, payload)
    assert len(body) == 1 << 20
    assert read_payload_of(body) == payload
    with pytest.raises(
        UsageError,
        match=r"a message of 1048577 bytes \(4 of attributes, 1048571 of payload\): "
        r"at most 1048576 are allowed",
    ):
        write_body({"a": 1}, payload + b"!")


def test_a_broker_may_allow_less() -> None:
    assert write_body({"a": 1}, b"\xee\xff", bytes_max=8) == BODY
    with pytest.raises(UsageError, match=r"a message of 8 bytes .* at most 7"):
        write_body({"a": 1}, b"\xee\xff", bytes_max=7)


def test_attributes_that_their_length_cannot_say_are_refused() -> None:
    crowded = {f"{i:064}": "x" * 1000 for i in range(64)}
    with pytest.raises(UsageError, match=r"attributes of \d+ bytes: at most 65535 fit"):
        write_body(crowded)


@pytest.mark.parametrize(
    ("attributes", "payload"),
    [
        ([("a", 1)], b""),
        ({"a": None}, b""),
        ({"a": b"bytes"}, b""),
        ({"a": 2**63}, b""),
        ({"a": "x" * 1001}, b""),
        ({"": 1}, b""),
        ({1: 1}, b""),
        ({"n" * 65: 1}, b""),
        ({"\ud800": 1}, b""),
        ({str(i): i for i in range(65)}, b""),
        ({}, "text"),
        ({}, bytearray(b"x")),
    ],
)
def test_what_is_no_message_is_refused(attributes: Any, payload: Any) -> None:
    with pytest.raises(UsageError, match=r"^[^\n]+$"):
        write_body(attributes, payload)
