"""Constants of the feedback protocol that publishers and receivers must agree on.

Does not import either half: both import it.
"""

from __future__ import annotations

from typing import Final

# An announcement identifies the limiting receiver of a flow by the low 32 bits of its id.
CLR_MASK: Final = (1 << 32) - 1
# The length of T and of a feedback round, in maximum round trips, for 10 000 receivers.
ROUND_TRIPS: Final = 6
# Window law (pgmcc §3.5): a receiver takes a flow over only below this share of its quota.
TAKEOVER_RATIO: Final = 0.75
