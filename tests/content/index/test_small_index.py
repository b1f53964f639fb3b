from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.content.index.small_index import SmallIndex
from penstock.content.message import Message
from penstock.content.syntax import parse

FILTERS = [
    parse(text).filters[0]
    for text in (
        "a = 1", "a = true", "a = 1 and b = 1", "b = 'x'", "a > 0", "c >= 1 and a = 7.5",
        "a in (1, 'x')", "not exists b and a = 1", "a = 1 and c = 1 and b = 0",
    )
]  # fmt: skip


@given(
    attributes=st.dictionaries(
        st.sampled_from("abc"), st.sampled_from([0, 1, 1.0, True, "x", 7.5]), min_size=1
    )
)
def test_it_finds_the_filters_that_match(attributes: dict[str, int | float | str]) -> None:
    message = Message(attributes)
    found = SmallIndex(enumerate(FILTERS)).match(message)
    assert sorted(found) == [i for i, f in enumerate(FILTERS) if f.matches(message)]
