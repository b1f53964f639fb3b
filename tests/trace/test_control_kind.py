from penstock.trace.control_kind import ControlKind


def test_kinds_are_the_words_that_traces_have_had_so_far() -> None:
    words = ["digest", "track", "tracked", "recall", "echorequest", "echoreply", "ack"]
    assert [kind.value for kind in ControlKind] == words
