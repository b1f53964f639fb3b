"""The repairs of reader 0 in a recovery: through the filters of those who read here, to it alone.

Without a name, a repair goes through the filter of whichever link it crosses, which others may have
widened. With one, the pubend leaves out what nobody at this host wants.

The pubend may have forgotten a name, or not have heard that its predicate has changed: what comes
under a name is silence under the predicate that it was first registered with. So each registration
has a number of its own, and what is still under way under an earlier one is not listened to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.content.covering import covers
from penstock.content.filter import Predicate
from penstock.guaranteed.host.reader_numbers import ReaderNumbers
from penstock.wire.frames.guaranteed.base import BrokerFrame, ReaderId
from penstock.wire.frames.guaranteed.requests import ReaderRequest


class FilteredRepair:
    """Of reader 0 at one host."""

    def __init__(
        self,
        pubend: int,
        host: str,
        *,
        numbers: ReaderNumbers,
        ask: Callable[[BrokerFrame], None],
    ) -> None:
        self._pubend: Final = pubend
        self._host: Final = host
        self._numbers: Final = numbers
        self._ask: Final = ask
        self._reader: ReaderId | None = None
        self._predicate: Predicate | None = None
        self._is_ending = False
        # The first tick that no answer under a name has said anything of.
        self.answered_to = 0

    @property
    def is_registered(self) -> bool:
        """Whether the pubend was told of it."""
        return self._reader is not None

    @property
    def is_ending(self) -> bool:
        """Whether only answers are waited for."""
        return self._is_ending

    @property
    def reader(self) -> ReaderId | None:
        """In whose name is asked now; None for everybody's."""
        return None if self._is_ending else self._reader

    def owns(self, number: int) -> bool:
        """Whether an answer is for it."""
        return self._reader is not None and self._reader.number == number

    def begin(self, predicate: Predicate) -> None:
        """A recovery begins."""
        if self._predicate is None or not covers(self._predicate, predicate):
            self.close()
            self._reader = ReaderId(self._host, self._numbers.next())
            self._predicate = predicate
            self.register_again()
        self._is_ending = False

    def widen(self, predicate: Predicate) -> bool:
        """Somebody else reads here; returns whether what was asked for will not come."""
        if self._predicate is None or covers(self._predicate, predicate):
            return False
        was_ending = self._is_ending
        self.close()
        if not was_ending:
            self.begin(predicate)
        return True

    def answered(self, stop: int) -> None:
        """An answer has come, and says nothing of what others want."""
        self.answered_to = max(self.answered_to, stop)

    def register_again(self) -> None:
        """The pubend does not know it, as after its restart."""
        assert self._reader is not None
        self._tell(self._predicate)

    def end(self) -> None:
        """The recovery is over: what was asked for in its name may still come."""
        self._is_ending = self._reader is not None

    def close(self) -> None:
        """Nothing is waited for."""
        if self._reader is not None:
            self._tell(None)
        self._reader = self._predicate = None
        self._is_ending = False

    def _tell(self, predicate: Predicate | None) -> None:
        assert self._reader is not None
        self._ask(ReaderRequest(pubend=self._pubend, reader=self._reader, predicate=predicate))
