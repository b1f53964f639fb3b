import pytest

from penstock.trace.fates import ReceiverFate
from penstock.transport.order.late_message import late_fate
from penstock.transport.settings import OrderingSettings


@pytest.mark.parametrize("fate", [ReceiverFate.DELIVERED_LATE, ReceiverFate.REPAIRED])
def test_a_subscription_chooses_what_becomes_of_late_messages(fate: ReceiverFate) -> None:
    assert late_fate(OrderingSettings(late="deliver"), fate) is fate
    assert late_fate(OrderingSettings(late="drop"), fate) is ReceiverFate.DROPPED_LATE
