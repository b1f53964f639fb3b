"""What a subscriber has, and what it answers: the part in which files and streams differ."""

from __future__ import annotations

from typing import Protocol

from penstock.bloomcast.facts import Verdict
from penstock.bloomcast.segment.report_parts import ReportPart
from penstock.bloomcast.subscriber.reporter import Question
from penstock.wire.frames.cast.header import Header
from penstock.wire.frames.cast.transfer import End, First, Stop


class Reception(Protocol):
    """Of one transfer."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing, nor will be."""

    def begin_epoch(self, header: Header, first: First) -> Reception:
        """The publisher has begun again: what is received from now on."""

    @property
    def lacks_from(self) -> int:
        """Of a stream, the first block that is not there; 0 of a file."""

    def key_of(self, header: Header) -> int:
        """Which question END asks, and symbols answer."""

    def rated_symbols(self, header: Header, numbers: tuple[int, ...]) -> int:
        """Source symbols of a block, as far as they tell how much is lost; 0: no such block."""

    def on_first(self, header: Header, first: First) -> None:
        """FIRST has come, perhaps again."""

    def on_symbols(self, header: Header, numbers: tuple[int, ...]) -> None:
        """Symbols of a block that there is."""

    def on_end(self, header: Header, body: End) -> None:
        """END has come."""

    def on_stop(self, header: Header, body: Stop) -> None:
        """Nothing more will come."""

    def decoded(self, block: int, verdict: Verdict) -> None:
        """What came of decoding a block."""

    def report(self, question: Question) -> list[ReportPart]:
        """The answer to a question."""
