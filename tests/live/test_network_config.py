"""What nodes agree on, and the number that stands for it."""

from __future__ import annotations

import pytest

from penstock.content.bloom import BloomParams
from penstock.content.schema import Encoding, Schema
from penstock.kernel.errors import UsageError
from penstock.kernel.instant import SECOND
from penstock.live.network_config import DEFAULT_NETWORK, Agreement
from penstock.overlay.settings import OverlaySettings

A, B = Encoding(width=0.5), Encoding(prefixes=(1, 2))


def test_equal_agreements_have_one_number() -> None:
    assert Agreement().network == DEFAULT_NETWORK.network
    one = Agreement(schema=Schema({"a": A, "b": B}))
    other = Agreement(schema=Schema({"b": B, "a": A}))
    assert one.network == other.network


@pytest.mark.parametrize(
    "other",
    [
        Agreement(name="another"),
        Agreement(schema=Schema({"a": A})),
        Agreement(schema=Schema({"a": B})),
        Agreement(bloom=BloomParams(512, 5)),
        Agreement(bloom=BloomParams(256, 7)),
    ],
)
def test_whatever_changes_an_encoding_changes_the_number(other: Agreement) -> None:
    assert other.network != DEFAULT_NETWORK.network
    assert 0 <= other.network < 2**32


def test_periods_change_no_encoding() -> None:
    assert (
        Agreement(overlay=OverlaySettings(hello_ns=2 * SECOND)).network == DEFAULT_NETWORK.network
    )


def test_a_name_is_no_longer_than_a_salt() -> None:
    with pytest.raises(UsageError, match="salt"):
        Agreement(name="x" * 65)
