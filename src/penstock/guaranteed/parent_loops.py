"""Parents that form a loop: each is said once, in a line that says what to do.

A loop of two is known by the names of neighbours. A longer one shows when a stream comes back to
the broker that stores it, or seems to be further away than any can be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from penstock.guaranteed.announcements import DISTANCE_MAX
from penstock.guaranteed.facts import Alarm
from penstock.kernel.bounded import BoundedDict
from penstock.wire.frames.guaranteed.hello import Announcement

_TOLD_MAX: Final = 256


class ParentLoops:
    """What one broker has found, and told."""

    def __init__(self, tell: Callable[[Alarm], None]) -> None:
        self._tell: Final = tell
        self._told: Final[BoundedDict[str, None]] = BoundedDict(_TOLD_MAX)

    def neighbours(self, parents: Collection[str], children: Collection[str]) -> None:
        """Brokers that are linked to this one have said their names."""
        for name in parents:
            if name in children:
                self._say(
                    f"neighbour {name}",
                    f"broker {name!r} is parent and child of this one: leave --parent out at one",
                )

    def comes_back(
        self, announcement: Announcement, parent: str, children: Collection[str]
    ) -> None:
        """A parent has a stream of which the log is here."""
        if parent not in children:
            self._say(
                f"own {parent}",
                f"parent {parent!r} has {announcement.stream!r} of this broker:"
                " end the loop of parents, or the copy of this broker",
            )

    def announced(self, parent: str, announcements: Collection[Announcement]) -> None:
        """A parent has said what it serves; what is too far away is not taken from it."""
        for each in announcements:
            if each.distance > DISTANCE_MAX:
                what = (
                    f"parent {parent!r} has stream {each.stream!r} from over {DISTANCE_MAX} brokers"
                )
                self._too_far(each, f"{what} away")

    def not_passed_on(self, announcements: Collection[Announcement]) -> None:
        """These are as far away as they may be: children are not told of them."""
        for each in announcements:
            what = f"stream {each.stream!r} is {DISTANCE_MAX} brokers away, too far for children"
            self._too_far(each, what)

    def _too_far(self, announcement: Announcement, what: str) -> None:
        self._say(
            f"stream {announcement.stream}",
            f"{what}: if parents form a loop, end it",
        )

    def _say(self, what: str, text: str) -> None:
        if what not in self._told:
            self._told[what] = None
            self._tell(Alarm("loop", text))
