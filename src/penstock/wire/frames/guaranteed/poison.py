"""POISON: the message that ends a subscription, because it was handed out too often."""

from __future__ import annotations

from typing import Final

from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.guaranteed.base import (
    TEXT_BYTES_MAX,
    ClientFrame,
    check_body,
    check_ticks,
)
from penstock.wire.frames.texts import check_text

REASONS_MAX: Final = 16


class Poison(ClientFrame, frozen=True, kw_only=True, gc=False):
    """POISON: a message that is not handed out any more; REFUSED follows."""

    subscription: int
    pubend: int
    tick: int
    published_ns: int
    # How often it was handed out.
    attempts: int
    # What the client said when it failed, the oldest first; without those of a crashed host.
    reasons: tuple[str, ...]
    body: bytes

    def __post_init__(self) -> None:
        check_unsigned(32, subscription=self.subscription, attempts=self.attempts)
        check_unsigned(64, pubend=self.pubend, published_ns=self.published_ns)
        check_ticks(tick=self.tick)
        check_count("reasons", self.reasons, REASONS_MAX)
        for reason in self.reasons:
            check_text("the reason of a failure", reason, TEXT_BYTES_MAX)
        check_body(self.body)
