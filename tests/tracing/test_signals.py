import pytest

from penstock.trace.control_kind import ControlKind
from penstock.trace.records import Signal
from penstock.tracing.signals import CONTROL_KINDS, Signals
from penstock.wire import size_of
from tests.tracing.facts import CONTROL_FRAMES
from tests.tracing.rows import NAMES, ListSink


def test_each_kind_is_written_for_one_frame_type() -> None:
    assert sorted(CONTROL_KINDS.values()) == sorted(ControlKind)


@pytest.mark.parametrize("kind", CONTROL_FRAMES)
def test_a_control_frame_has_its_sender_and_whose_messages_it_is_about(kind: ControlKind) -> None:
    sink = ListSink()
    sent = CONTROL_FRAMES[kind]
    Signals(sink.add, NAMES).on_sent("far", sent, now=100)
    assert sink.rows == [Signal("far", "writer", kind, 100, size_of(sent.frame))]
