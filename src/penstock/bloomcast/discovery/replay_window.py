"""Which frames of each sender have come before: a frame counts once."""

from __future__ import annotations

from typing import Final

from penstock.kernel.bounded import BoundedDict
from penstock.wire.frames.cast.base import Origin


class ReplayWindow:
    """The numbers of each sender's present start that have come; older than the window: refused."""

    def __init__(self, *, window: int, senders_max: int) -> None:
        self._window: Final = window
        self._mask: Final = (1 << window) - 1
        # By node: its start, the highest number, and a bit for each number behind it.
        self._seen: Final[BoundedDict[int, tuple[int, int, int]]] = BoundedDict(
            senders_max, recent=True
        )

    def is_new(self, origin: Origin) -> bool:
        """Whether this frame has not come before; it has from now on."""
        node, boot, number = origin
        known = self._seen.get(node)
        if known is None or boot > known[0]:
            self._seen[node] = (boot, number, 1)
            return True
        known_boot, highest, bits = known
        if boot < known_boot:
            return False
        ahead = number - highest
        if ahead > 0:
            moved = bits << ahead & self._mask if ahead < self._window else 0
            self._seen[node] = (boot, number, moved | 1)
            return True
        bit = 1 << -ahead
        if -ahead >= self._window or bits & bit:
            return False
        self._seen[node] = (boot, highest, bits | bit)
        return True
