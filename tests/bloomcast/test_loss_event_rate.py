"""Loss event rates in two bytes."""

from __future__ import annotations

import pytest

from penstock.bloomcast.loss_event_rate import decode_loss_event_rate, encode_loss_event_rate


@pytest.mark.parametrize("rate", [1.0, 0.3, 1e-3, 1e-6, 5e-10])
def test_a_rate_survives_the_wire(rate: float) -> None:
    code = encode_loss_event_rate(rate)
    assert 0 < code < 1 << 16
    assert decode_loss_event_rate(code) == pytest.approx(rate, rel=2e-4)


def test_no_loss_event_is_a_code_of_its_own() -> None:
    assert encode_loss_event_rate(0.0) == 0
    assert decode_loss_event_rate(0) == 0.0
    assert decode_loss_event_rate(1) == 1.0


def test_what_is_smaller_than_any_code_is_still_an_event() -> None:
    assert decode_loss_event_rate(encode_loss_event_rate(1e-30)) == pytest.approx(2.3e-10, rel=0.1)
