"""The counters of a broker: its actions, and each drop under its reason."""

from enum import StrEnum
from typing import TypeAlias


class Count(StrEnum):
    """The names of all counters; `docs/overlay.md` explains them."""

    PUBLISHED = "published"
    FORWARDED = "forwarded"
    DELIVERED = "delivered"

    # A message, or a copy of one, was not passed on.
    FILTERED = "filtered"
    NO_MATCH = "no_match"
    NO_ROUTE = "no_route"
    TTL = "ttl"
    DUPLICATE = "duplicate"

    # A frame was refused.
    MALFORMED = "malformed"
    STRANGER = "stranger"
    FOREIGN = "foreign"
    OWN_NUMBER = "own_number"

    # A table was full.
    LINKS_OVERFLOW = "links_overflow"
    ADVERTS_OVERFLOW = "adverts_overflow"
    FILTERS_OVERFLOW = "filters_overflow"
    CLIENTS_OVERFLOW = "clients_overflow"
    SUBSCRIPTIONS_OVERFLOW = "subscriptions_overflow"
    OWN_FILTERS_OVERFLOW = "own_filters_overflow"


Counters: TypeAlias = dict[str, int]


def new_counters() -> Counters:
    """All counters at zero, in declaration order."""
    return {count.value: 0 for count in Count}
