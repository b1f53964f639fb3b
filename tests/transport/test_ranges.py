"""A range cannot be seen in a fingerprint: what may be within it is waited for, and never lost."""

from __future__ import annotations

import pytest

from penstock.kernel.instant import MILLISECOND
from penstock.transport.settings import RecordSettings
from penstock.wire.frames.data import Data
from tests.transport.harness import Receiver, endpoint, message

DELAY_NS = 50 * MILLISECOND
WANTED = 'symbol = "IBM" and price < 120'


def prices(*values: float, told: bool = False) -> list[Data]:
    """One message a millisecond, numbered from 0; with prices in the record or not."""
    sender = endpoint(record=RecordSettings(numbers=("price",) if told else ()))
    return [
        sender.publish(message(symbol="IBM", price=price), now=i * MILLISECOND)
        for i, price in enumerate(values)
    ]


@pytest.mark.parametrize("told", [False, True])
def test_what_was_overtaken_is_put_in_order(told: bool) -> None:
    first, second, third, fourth = prices(100, 101, 102, 103, told=told)
    receiver = Receiver(WANTED)
    receiver.hear(first, at=DELAY_NS)
    receiver.hear(third, at=DELAY_NS + 2 * MILLISECOND)
    assert receiver.numbers == [0]
    receiver.hear(second, fourth, at=DELAY_NS + 3 * MILLISECOND)
    assert receiver.numbers == [0, 1, 2, 3]


def test_what_was_out_of_range_is_waited_for_in_vain_but_never_lost() -> None:
    first, _dear, third = prices(100, 130, 102)
    receiver = Receiver(WANTED)
    receiver.hear(first, at=DELAY_NS)
    receiver.hear(third, at=DELAY_NS + 2 * MILLISECOND)
    assert receiver.numbers == [0]
    receiver.wait_for_all()
    assert receiver.numbers == [0, 2]
    assert not receiver.absences


def test_what_the_record_tells_to_be_out_of_range_is_not_waited_for() -> None:
    first, _dear, third = prices(100, 130, 102, told=True)
    receiver = Receiver(WANTED)
    receiver.hear(first, at=DELAY_NS)
    receiver.hear(third, at=DELAY_NS + 2 * MILLISECOND)
    assert receiver.numbers == [0, 2]
