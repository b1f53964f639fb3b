"""The index finds the filters that match, whatever kind of message it is given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.filter import Filter
from penstock.api.filter_index import FilterIndex
from penstock.content.filter import Predicate
from penstock.kernel.errors import UsageError
from tests.api.test_filter import briefly, few, handed_over, of, without_nan
from tests.content.strategies import messages_near


@briefly
@given(st.lists(few, min_size=1, max_size=4), st.data())
def test_it_finds_what_each_filter_would_say(
    interests: list[Predicate], data: st.DataObject
) -> None:
    index: FilterIndex[int] = FilterIndex()
    filters = dict(enumerate(map(of, interests)))
    for key, filter_ in filters.items():
        index.add(key, filter_)
    attributes = without_nan(data.draw(messages_near(data.draw(st.sampled_from(interests)))))
    expected = {key for key, filter_ in filters.items() if filter_.matches(attributes)}
    assert set(index.match(attributes)) == set(index.match(handed_over(attributes))) == expected


def test_a_message_goes_through_a_large_index_too() -> None:
    index: FilterIndex[int] = FilterIndex()
    for n in range(200):
        index.add(n, Filter("price < ? and hot = ?", n, n % 2 == 0))
    message = handed_over({"price": 150, "hot": True})
    assert sorted(index.match(message)) == list(range(152, 200, 2))


def test_keys_are_added_replaced_and_removed() -> None:
    index: FilterIndex[str] = FilterIndex()
    index.add("ibm", 'symbol = "IBM"')
    index.add("all", "true")
    assert (len(index), "ibm" in index) == (2, True)
    assert sorted(index.match({"symbol": "IBM"})) == ["all", "ibm"]
    index.add("ibm", 'symbol = "AMD"')
    assert index.match({"symbol": "IBM"}) == ["all"]
    index.remove("all")
    assert (len(index), index.match({"symbol": "IBM"})) == (1, [])
    with pytest.raises(KeyError, match="all"):
        index.remove("all")
    with pytest.raises(UsageError, match="column 1"):
        index.add("bad", "")
