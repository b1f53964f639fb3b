"""Tickets: the secret of one cast, as people read it to each other.

Twenty letters and digits of Crockford's base 32, which has no I, L, O and U: 100 bits.
"""

from __future__ import annotations

from secrets import choice
from typing import Final

from penstock.kernel.errors import UsageError
from penstock.live.cast.cast_keys import CastKeys

LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
LENGTH: Final = 20
# What people take for another letter, and what they put between groups.
_READ_AS: Final = str.maketrans({"I": "1", "L": "1", "O": "0", "-": None, " ": None})


def new_ticket() -> str:
    """A ticket that nobody has had before."""
    return "".join([choice(LETTERS) for _ in range(LENGTH)])


def read_ticket(text: str) -> str:
    """The ticket that somebody wrote, however they did."""
    ticket = text.upper().translate(_READ_AS)
    if len(ticket) != LENGTH or any(letter not in LETTERS for letter in ticket):
        raise UsageError(
            f"{text!r} is no ticket: it has {LENGTH} letters and digits, as 'cast send' printed it"
        )
    return ticket


def keys_of(ticket: str) -> CastKeys:
    """What follows from a ticket."""
    return CastKeys(ticket.encode())


def split_ticket(text: str) -> tuple[str, str | None]:
    """An item and its ticket, if there is one behind a colon."""
    item, colon, ticket = text.rpartition(":")
    return (item, read_ticket(ticket)) if colon else (text, None)


def has_ticket(text: str) -> bool:
    """Whether what is behind the last colon, if there is one, can be read as a ticket."""
    try:
        return split_ticket(text)[1] is not None
    except UsageError:
        return False
