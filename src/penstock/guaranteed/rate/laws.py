"""The laws of the publication rate by name."""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock.guaranteed.rate.base import RateLaw, RateSettings
from penstock.guaranteed.rate.corrected import CorrectedRate
from penstock.guaranteed.rate.literal import LiteralRate
from penstock.guaranteed.rate.model import ModelRate

RateLawName: TypeAlias = Literal["off", "literal", "corrected", "model"]


def rate_law(name: RateLawName, settings: RateSettings, *, slow_host: str) -> RateLaw | None:
    """A law for one pubend; None slows nobody down."""
    if name == "off":
        return None
    if name == "literal":
        return LiteralRate(settings)
    if name == "corrected":
        return CorrectedRate(settings)
    return ModelRate(settings, waits_for_recovery=slow_host == "throttle")
