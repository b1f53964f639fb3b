from penstock.sim.recorder import _CONTROL_KINDS
from penstock.trace.control_kind import ControlKind


def test_kinds_are_the_words_that_traces_have_had_so_far() -> None:
    words = ["digest", "track", "tracked", "recall", "echorequest", "echoreply", "ack"]
    assert [kind.value for kind in ControlKind] == words


def test_each_kind_is_written_for_one_frame_type() -> None:
    assert sorted(_CONTROL_KINDS.values()) == sorted(ControlKind)
