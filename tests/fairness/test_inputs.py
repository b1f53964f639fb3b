"""Networks from JSON, arrays and CSV: what is read, and what is said of what cannot be."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.fairness.array_network import from_columns
from penstock.fairness.csv_network import from_table
from penstock.fairness.json_network import from_document
from penstock.fairness.network import Link, Network, Receiver
from penstock.kernel.errors import UsageError
from tests.fairness.examples import PAPER, paper

TABLE = """\
kind,session,id,host,from,to,capacity,delay,join,leave,data
link,,,,h,b,2,5,,,
link,,,,b,g,100,10,,,
link,,,,h,p,1,2,,,
sender,nu,,h,,,,2,,,
receiver,nu,z,g,,,,2,119,725,900
sender,mu,,h,,,4,,,,
receiver,mu,x,p,,,,1,3,526,500
receiver,mu,w,g,,,,1,16,541,500
"""


def complaint(call: Any, *arguments: object) -> str:
    with pytest.raises(UsageError) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def changed(*path: str | int, **members: object) -> dict[str, Any]:
    """The paper's network with something else in one of its objects."""
    document = copy.deepcopy(PAPER)
    place: Any = document
    for step in path:
        place = place[step]
    place |= members
    return document


Z = ("sessions", 0, "receivers", 0)


# JSON


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "the network is an object with links, sessions"),
        ({"links": []}, "the network: 'sessions' is missing"),
        ({"links": {}, "sessions": []}, "links is a list"),
        ({"links": [], "sessions": []}, "there are no sessions to judge: add one"),
        (changed("links", 0, capacty=3), "links[0]: 'capacty' means nothing here; known are"),
        (changed("links", 0, to=None), "a link's end is text of 1 to 200 characters"),
        (changed("links", 0, to="h"), "link h → h leads back to where it starts: leave it out"),
        (changed("links", 1, **{"from": "h", "to": "b"}), "link h → b is there twice"),
        (changed("links", 0, capacity=-1), "link h → b: capacity is 0 or more, not -1"),
        (changed("links", 0, capacity="2"), "link h → b: capacity is a number, not str"),
        (changed("links", 0, capacity=True), "link h → b: capacity is a number, not bool"),
        (changed("links", 0, capacity=1e-40), "link h → b: capacity is 1e-40, which is too large"),
        (changed("links", 0, delay=-2), "link h → b: delay is 0 or more, not -2"),
        (changed("links", 0, delay=float("nan")), "link h → b: delay is no number (NaN)"),
        (changed("links", 0, delay=float("inf")), "link h → b: delay is inf, which is too large"),
        (changed("links", 0, delay=10**400), "link h → b: delay is inf, which is too large"),
        (changed("sessions", 1, id="nu"), "session 'nu' is there twice"),
        (changed("sessions", 0, receivers=[]), "session 'nu' has no receivers: add one"),
        (changed("sessions", 0, sender="h"), "sessions[0]: sender is an object with host"),
        (changed(*Z, id="x"), "receiver 'x' is there twice: give each its own name"),
        (changed(*Z, id="n" * 201), "a receiver's id is text of 1 to 200 characters"),
        (changed(*Z, leave=118), "receiver 'z' leaves at 118, before it joins at 119"),
        (changed(*Z, data=-1), "receiver 'z': data is 0 or more, not -1"),
        (changed(*Z, join=float("-inf")), "receiver 'z': join is -1e+30 or more, not -inf"),
        ({**PAPER, "sessions": [{"id": "s"}]}, "sessions[0]: 'sender' is missing"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(document: object, said: str) -> None:
    assert complaint(from_document, document).startswith(said)


def test_no_capacity_is_one_without_limit() -> None:
    link: dict[str, Any] = {"from": "a", "to": "b"}
    for written in (link, {**link, "capacity": None}):
        found = from_document({**PAPER, "links": [written]}).links[0]
        assert found == Link(start="a", end="b", capacity=float("inf"), delay=0)


def test_a_sender_may_have_a_name() -> None:
    assert from_document(changed("sessions", 0, "sender", id="y")) == paper()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["links", "sessions", "id", "sender", "receivers", "host", "from", "to"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(ANYTHING)
@settings(max_examples=200, deadline=None)
def test_anything_at_all_is_read_or_refused(document: object) -> None:
    with contextlib.suppress(UsageError):
        assert isinstance(from_document(document), Network)


# CSV


def test_a_table_says_the_same() -> None:
    assert from_table(TABLE) == paper()


def test_columns_may_stand_in_any_order_and_lines_end_as_they_like() -> None:
    rows = [line.split(",")[::-1] for line in TABLE.splitlines()]
    assert from_table("\r\n".join(" , ".join(row) for row in rows) + "\r\n\r\n") == paper()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind,", "sort,", "neither JSON nor CSV: a CSV file begins with a line of names"),
        ("capacity,", "width,", "column 'width' means nothing here; columns are kind, from, to"),
        ("leave,", "join,", "a column is there twice"),
        ("link,,,,h,b", "road,,,,h,b", "line 2: a kind is link, sender, receiver, not 'road'"),
        ("h,b,2", "h,,2", "line 2: a link needs its to"),
        ("h,b,2,5,,", "h,b,2,5,7,", "line 2: a link has no join: leave that cell empty"),
        ("h,b,2,", "h,b,two,", "line 2: capacity is a number, not 'two'"),
        ("h,b,2,", "h,b,-2,", "link h → b: capacity is 0 or more, not -2"),
        ("h,b,2,", "h,b,nan,", "link h → b: capacity is no number (NaN)"),
        ("541,500", "541,500,7", "line 9 has more cells than there are columns"),
        ("sender,mu,,h,,,4,,,,\n", "", "session 'mu' has no sender: add a row of that kind"),
        ("sender,mu", "sender,nu", "line 7: session 'nu' has a sender already"),
        ("nu,z,g", 'nu,"z,g', "line 9 is no CSV: unexpected end of data"),
    ],
)
def test_what_is_wrong_in_a_table_is_named(old: str, new: str, said: str) -> None:
    assert old in TABLE
    assert complaint(from_table, TABLE.replace(old, new, 1)).startswith(said)


@given(st.text(alphabet='kindlsrecv,;"\n\r\0 019.-', max_size=60))
@settings(max_examples=200, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    for whole in (text, "kind,id\n" + text):
        with contextlib.suppress(UsageError):
            assert isinstance(from_table(whole), Network)


# Arrays


def columns() -> dict[str, dict[str, Any]]:
    return {
        "links": {
            "from": ["h", "b", "h"],
            "to": np.array(["b", "g", "p"]),
            "capacity": np.array([2.0, 100.0, 1.0]),
            "delay": np.array([5, 10, 2]),
        },
        "sessions": {
            "id": ["nu", "mu"],
            "host": ["h", "h"],
            "capacity": [None, 4],
            "delay": (2, 0),
        },
        "receivers": {
            "id": ["z", "x", "w"],
            "session": ["nu", "mu", "mu"],
            "host": ["g", "p", "g"],
            "join": np.array([119, 3, 16]),
            "leave": np.array([725.0, 526.0, 541.0]),
            "data": [900, 500, 500],
            "delay": [2, 1, 1],
        },
    }


def test_arrays_say_the_same() -> None:
    assert from_columns(**columns()) == paper()


def test_names_may_be_numbers() -> None:
    found = from_columns(
        links={"from": np.array([1]), "to": np.array([2])},
        sessions={"id": np.array([7]), "host": np.array([1])},
        receivers={
            "id": [9], "session": [7], "host": [2], "join": [0], "leave": [1], "data": [1]
        },
    )  # fmt: skip
    assert found.receivers() == [Receiver(id="9", host="2", join=0, leave=1, data=1)]


def test_what_is_wrong_in_arrays_is_named() -> None:
    short = columns()
    short["receivers"]["join"] = [1]
    assert complaint(lambda: from_columns(**short)).startswith(
        "the columns of receivers are not as long as each other: id 3, session 3, host 3, join 1"
    )
    lost = columns()
    lost["receivers"]["session"] = ["nu", "mu", "xi"]
    assert complaint(lambda: from_columns(**lost)) == (
        "receiver 'w': there is no session 'xi': add it to sessions"
    )
    empty = columns()
    empty["receivers"] = {}
    assert complaint(lambda: from_columns(**empty)).startswith("session 'nu' has no receivers")
