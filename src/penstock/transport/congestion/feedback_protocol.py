"""Constants of the feedback protocol that publishers and receivers must agree on.

Knows nothing of either half: both import it.
"""

from __future__ import annotations

from typing import Final

# An announcement names the limiting receiver of a flow by so many bits of its id.
CLR_MASK: Final = (1 << 32) - 1
# T and a round of feedback, in the largest round trips, for 10 000 receivers.
ROUND_TRIPS: Final = 6
# With windows (pgmcc §3.5): how much worse another receiver must be to take a flow over.
TAKEOVER_RATIO: Final = 0.75
