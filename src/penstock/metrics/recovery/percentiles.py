"""The percentiles that metrics of recovery report."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

PERCENTILES: Final[Mapping[str, float]] = MappingProxyType({"p50": 0.5, "p80": 0.8, "p99": 0.99})
