"""The most memory that this process ever had."""

from __future__ import annotations

import resource
import sys
from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/status")
_PEAK: Final = "VmHWM:"


def peak_mb() -> float:
    """The peak of the resident set since the program started."""
    # Linux hands the peak of `getrusage` down to children, which then have at least the parent's.
    if _STATUS.exists():
        lines = _STATUS.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(_PEAK)) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
