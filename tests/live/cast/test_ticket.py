"""Tickets are read as people write them."""

from __future__ import annotations

import pytest

from penstock.kernel.errors import UsageError
from penstock.live.cast.ticket import (
    LENGTH,
    LETTERS,
    has_ticket,
    new_ticket,
    read_ticket,
    split_ticket,
)


def test_a_new_ticket_is_read_as_it_is() -> None:
    ticket = new_ticket()
    assert len(ticket) == LENGTH
    assert set(ticket) <= set(LETTERS)
    assert read_ticket(ticket) == ticket
    assert ticket != new_ticket()


def test_letters_that_look_alike_are_the_same() -> None:
    assert read_ticket("oil0-oil0-oil0-oil0-abcd") == "0110" * 4 + "ABCD"


@pytest.mark.parametrize("text", ["", "ABCD", "U" * 20, "A" * 21])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no ticket"):
        read_ticket(text)


def test_a_ticket_stands_behind_the_item() -> None:
    assert split_ticket("images/debian.img") == ("images/debian.img", None)
    assert split_ticket("a:b:" + "7" * 20) == ("a:b", "7" * 20)


@pytest.mark.parametrize(
    ("text", "is_one"), [("a", False), ("a:b", False), ("a:b:" + "7" * 20, True), (":", False)]
)
def test_a_name_may_have_colons(text: str, is_one: bool) -> None:
    assert has_ticket(text) is is_one
