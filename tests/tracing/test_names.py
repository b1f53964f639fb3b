from penstock.tracing.names import Names


def test_an_id_without_a_name_is_written_as_a_number() -> None:
    names = Names()
    names[7] = "far"
    assert names[7] == "far"
    assert names[8] == "8"


def test_a_number_that_was_written_is_not_remembered_as_a_name() -> None:
    names = Names()
    assert names[8] == "8"
    names[8] = "near"
    assert names[8] == "near"
