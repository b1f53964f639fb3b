"""STATUS, QUERY and ANSWER: what becomes of a transfer, for people."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from penstock.wire.frames.base import check_count, check_unsigned
from penstock.wire.frames.cast.base import (
    NAME_BYTES_MAX,
    TEXT_BYTES_MAX,
    CastBody,
    check_page,
)
from penstock.wire.frames.texts import check_text

ROWS_MAX: Final = 16


class ReceiverState(IntEnum):
    """How far a receiver is."""

    JOINED = 0
    RECEIVING = 1
    REPAIRING = 2
    DONE = 3
    SLOW = 4
    FAILED = 5
    SILENT = 6


class Status(CastBody, frozen=True, kw_only=True, gc=False):
    """From a receiver to the controller, every few seconds."""

    node: int
    name: str
    blocks_done: int
    rate_bps: int
    state: ReceiverState
    error: str = ""

    def __post_init__(self) -> None:
        check_unsigned(32, node=self.node, rate_bps=self.rate_bps)
        check_unsigned(24, blocks_done=self.blocks_done)
        check_text("the name of a node", self.name, NAME_BYTES_MAX)
        check_text("an error", self.error, TEXT_BYTES_MAX)


class QueryKind(IntEnum):
    """What is asked for."""

    ITEMS = 0
    PLAN = 1
    STATUS = 2


class Query(CastBody, frozen=True, kw_only=True, gc=False):
    """A question to the controller, about the item of the header or all items."""

    kind: QueryKind
    serial: int

    def __post_init__(self) -> None:
        check_unsigned(32, serial=self.serial)


class QueryAnswer(CastBody, frozen=True, kw_only=True, gc=False):
    """A page of rows, as texts for programs (JSON)."""

    serial: int
    page: int
    pages: int
    rows: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_unsigned(32, serial=self.serial)
        check_page(self.page, self.pages)
        check_count("rows", self.rows, ROWS_MAX)
        for row in self.rows:
            check_text("a row", row, TEXT_BYTES_MAX)
