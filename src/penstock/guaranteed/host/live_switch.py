"""LIVE: whether a link carries new messages, or repairs alone.

A host that is far behind cannot keep what is new, and would have to ask for it again: it has its
link tell it where the pubend is instead. Links are reliable while they are up, and at both ends of
a new one LIVE is on, so what is said once per change can only be lost with its effect.
"""

from __future__ import annotations

from typing import Final

# On again well before everything is made up for, so that the link is never idle in between; and not
# off again at once.
_ON_SHARE_PERCENT: Final = 80


class LiveSwitch:
    """Of one reader with a receive window of so many ticks."""

    def __init__(self, window: int) -> None:
        self._window: Final = window
        self.is_on = True

    def turn(self, to_go: int, *, is_recovering: bool) -> bool:
        """Decides anew, with so many ticks to make up for; returns whether that is a change."""
        before = self.is_on
        if not is_recovering or 100 * to_go < _ON_SHARE_PERCENT * self._window:
            self.is_on = True
        elif to_go > self._window:
            self.is_on = False
        return self.is_on != before

    def reset(self) -> bool:
        """The link is down; returns whether that is a change."""
        was_on, self.is_on = self.is_on, True
        return not was_on
