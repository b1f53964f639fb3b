from hypothesis import given
from hypothesis import strategies as st

from penstock.transport.record.byte_search import ByteSearch


@given(st.integers(1, 5), st.sampled_from([0, 1, 3, 4, 40, 400]), st.data())
def test_all_needles_are_found_wherever_they_stand(
    length: int, most: int, data: st.DataObject
) -> None:
    # Few bytes, so that needles and text meet.
    piece = st.lists(st.sampled_from(b"\0\1a\xff"), min_size=length, max_size=length).map(bytes)
    needles = data.draw(st.lists(piece, max_size=most))
    text = data.draw(st.lists(st.sampled_from(b"\0\1a\xff"), max_size=40).map(bytes))
    start = data.draw(st.integers(0, len(text)))
    stop = data.draw(st.integers(start, len(text)))
    expected = [at for at in range(start, stop - length + 1) if text[at : at + length] in needles]
    assert sorted(ByteSearch(needles).find(text, start, stop)) == expected


def test_many_needles_are_told_apart() -> None:
    needles = [i.to_bytes(2, "little") for i in range(0, 65_536, 5)]
    text = bytes(range(256))
    for count in (2, 60, 300, 5_000):
        some = needles[:count]
        expected = [at for at in range(255) if text[at : at + 2] in set(some)]
        assert sorted(ByteSearch(some).find(text, 0, 256)) == expected
