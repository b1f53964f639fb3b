"""TM_REQ and TM_REP: between a rendezvous point that has no map and the topology manager."""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.cast.base import CastBody, Origin, check_page
from penstock.wire.frames.cast.packet import check_origin

SUBSCRIBERS_A_PAGE_MAX: Final = 100
VOID_MAX: Final = 100


class VoidBefore(NamedTuple):
    """Whatever a node has said before this start of it holds no more."""

    node: int
    boot: int


class PlanRequest(CastBody, frozen=True, kw_only=True, gc=False):
    """TM_REQ: a page of who offers the item of the header, and who wants it.

    The topology manager plans when all pages have come, and again when the network changes.
    """

    # Counts the requests of this start of the rendezvous point.
    version: int
    page: int
    pages: int
    publisher: int
    # The start of the publisher that made the offer.
    publisher_boot: int
    # Of the offer: a publisher knows nothing of plans for an earlier one.
    epoch: int
    # By which frame each has joined; another one of a node: it has left meanwhile, or restarted.
    subscribers: tuple[Origin, ...] = ()

    def __post_init__(self) -> None:
        check_unsigned(
            32,
            version=self.version,
            publisher=self.publisher,
            publisher_boot=self.publisher_boot,
            epoch=self.epoch,
        )
        check_page(self.page, self.pages)
        check_count("subscribers", self.subscribers, SUBSCRIBERS_A_PAGE_MAX)
        for subscriber in self.subscribers:
            check_origin(subscriber)


class PlanReply(CastBody, frozen=True, kw_only=True, gc=False):
    """TM_REP: what the map says of a request."""

    version: int
    # No way leads to the publisher.
    is_publisher_cut_off: bool = False
    void: tuple[VoidBefore, ...] = ()

    def __post_init__(self) -> None:
        check_unsigned(32, version=self.version)
        check_count("void subscriptions", self.void, VOID_MAX)
        for node, boot in self.void:
            check_unsigned(32, node=node, boot=boot)
