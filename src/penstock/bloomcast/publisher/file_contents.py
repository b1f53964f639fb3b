"""A file, as it is sent: all of it in generation 0, and then in rounds what is missing of it."""

from __future__ import annotations

from typing import Final

from penstock.bloomcast.facts import Offer
from penstock.bloomcast.publisher.contents import Session
from penstock.bloomcast.publisher.generation import SourceSymbols, Train
from penstock.bloomcast.publisher.rounds import Rounds, Step
from penstock.bloomcast.segment.question import round_of
from penstock.kernel.instant import Instant
from penstock.wire.frames.cast.base import MANIFEST_BLOCK
from penstock.wire.frames.cast.header import Header


class FileContents:
    """Of one transfer."""

    def __init__(self, offer: Offer, session: Session) -> None:
        self._head: Final = session.head
        self._say: Final = session.say
        # Source symbols by block, in the order of sending.
        self._blocks: Final[dict[int, int]] = {}
        if offer.manifest_symbols:
            self._blocks[MANIFEST_BLOCK] = offer.manifest_symbols
        self._blocks.update(enumerate(offer.block_symbols))
        self._head.symbols_of = lambda block: self._blocks.get(block, 0)
        self._sources: SourceSymbols | None = None
        self._rounds: Final = Rounds(
            session.head,
            session.head.questions.opening,
            session.say,
            symbols=self._blocks,
            pacing=session.pacing,
            unreached=session.unreached,
            settings=session.settings,
        )

    @property
    def is_unasked(self) -> bool:
        """Whether generation 0 is being sent."""
        return not self._rounds.generation and self._rounds.step is Step.SENDING

    @property
    def is_sending(self) -> bool:
        """Whether a generation is."""
        return self._rounds.step is Step.SENDING

    @property
    def is_over(self) -> bool:
        """Whether all are done."""
        return self._rounds.step is Step.OVER

    @property
    def is_spent(self) -> bool:
        """Whether there are no more generations."""
        return self._rounds.step is Step.SPENT

    @property
    def end_block(self) -> int:
        """Receivers know what there is."""
        return 0

    def counts(self) -> tuple[int, int]:
        """Subscribers that are done, and all."""
        return self._head.questions.opening.counts()

    def begin(self, now: Instant) -> None:  # noqa: ARG002
        """Begins with generation 0."""
        self._sources = SourceSymbols(self._blocks, self._head)

    def begin_epoch(self) -> None:
        """Begins again, with what is still needed."""
        self._rounds.begin_epoch()
        self._sources = None
        self._say.generation = 0

    def next_train(self, symbols_max: int, now: Instant) -> Train | None:
        """Of generation 0, or of the repairs that are due."""
        source = None if self._sources is None else self._sources.next_train(symbols_max)
        if source is not None:
            return source
        self._sources = None
        train = self._rounds.next_train(symbols_max)
        if train is None:
            self._rounds.end(now)
            self._follow()
        return train

    def came(self, ends: list[int], now: Instant) -> None:
        """These ends are new."""
        self._rounds.came(ends, now)

    def on_report(self, header: Header, now: Instant) -> None:
        """An end has said something new."""
        self._rounds.on_report(round_of(header), now)
        self._follow()

    def wake(self, now: Instant) -> None:
        """Does what is due."""
        self._rounds.wake(now)
        self._follow()

    def next_wakeup(self) -> Instant | None:
        """When something is due."""
        return self._rounds.next_wakeup()

    def _follow(self) -> None:
        self._say.generation = self._rounds.generation
