from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernel.errors import PeerError
from penstock.wire.codec.guaranteed.broker_frames import BROKER_FRAMES
from penstock.wire.codec.guaranteed.stream_framing import FrameSplitter, frame_bytes
from penstock.wire.frames.guaranteed.base import BrokerFrame
from tests.wire.codec.guaranteed.test_golden import GOLDEN

BOUND = 40
BROKER_GOLDEN = [
    (frame, bytes.fromhex(written)) for frame, written in GOLDEN if isinstance(frame, BrokerFrame)
]


def naive(stream: bytes, bytes_max: int) -> tuple[list[bytes], bool]:
    """All frames of a stream that is known as a whole, and whether a length was too large."""
    frames: list[bytes] = []
    while len(stream) >= 4:
        length = int.from_bytes(stream[:4], "big")
        if length > bytes_max:
            return frames, True
        if len(stream) < 4 + length:
            break
        frames.append(stream[4 : 4 + length])
        stream = stream[4 + length :]
    return frames, False


def split_all(splitter: FrameSplitter, chunks: list[bytes]) -> tuple[list[bytes], bool]:
    """The frames in the chunks, and whether a length was too large."""
    frames: list[bytes] = []
    try:
        for chunk in chunks:
            frames += splitter.split(chunk)
    except PeerError:
        return frames, True
    return frames, False


def chunks_of(stream: bytes, cuts: list[int]) -> list[bytes]:
    """The stream cut at these places; some chunks are empty."""
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    return [stream[a:b] for a, b in pairwise(edges)]


STREAMS = st.one_of(
    st.lists(st.binary(max_size=BOUND + 1), max_size=8).map(
        lambda frames: b"".join(len(f).to_bytes(4, "big") + f for f in frames)
    ),
    st.binary(max_size=60).map(lambda noise: bytes(3) + noise),
)


@given(
    stream=STREAMS,
    cuts=st.lists(st.integers(0, 400), max_size=30),
    missing_bytes=st.integers(0, 6),
)
def test_frames_are_found_however_the_stream_is_cut(
    stream: bytes, cuts: list[int], missing_bytes: int
) -> None:
    stream = stream[: len(stream) - missing_bytes]
    expected, is_refused = naive(stream, BOUND)
    splitter = FrameSplitter(BOUND)
    assert split_all(splitter, chunks_of(stream, cuts)) == (expected, is_refused)
    if not is_refused:
        taken_bytes = sum(4 + len(frame) for frame in expected)
        assert splitter.held_bytes == len(stream) - taken_bytes


@given(st.lists(st.integers(0, 2000), max_size=40))
def test_frames_come_back_from_a_connection(cuts: list[int]) -> None:
    stream = b"".join(frame_bytes(BROKER_FRAMES, frame) for frame, _ in BROKER_GOLDEN)
    splitter = FrameSplitter(1000)
    frames, is_refused = split_all(splitter, chunks_of(stream, cuts))
    assert not is_refused
    assert frames == [written for _, written in BROKER_GOLDEN]
    assert [BROKER_FRAMES.decode(data) for data in frames] == [f for f, _ in BROKER_GOLDEN]


def test_the_frames_before_a_bad_length_are_given_and_nothing_behind_it() -> None:
    splitter = FrameSplitter(4)
    frames = splitter.split(b"\0\0\0\4abcd\0\0\0\5abcde")
    assert next(frames) == b"abcd"
    with pytest.raises(PeerError, match="a frame of 5 bytes: at most 4 are allowed"):
        next(frames)
    # Where the next frame begins is unknown.
    for chunk in (b"\0\0\0\1a", b"x"):
        with pytest.raises(PeerError, match="a frame of 5 bytes"):
            list(splitter.split(chunk))
    assert splitter.held_bytes < 16


def test_a_bad_length_is_refused_before_its_frame_has_come() -> None:
    splitter = FrameSplitter(1 << 20)
    assert list(splitter.split(b"\xff\xff\xff")) == []
    with pytest.raises(PeerError, match="4294967295 bytes"):
        list(splitter.split(b"\xff"))


def test_a_large_frame_comes_in_small_chunks() -> None:
    body = bytes(range(256)) * 4096
    stream = len(body).to_bytes(4, "big") + body + b"\0\0\0\2ab"
    splitter = FrameSplitter(1 << 20)
    chunks = [stream[i : i + 64] for i in range(0, len(stream), 64)]
    # Quadratic copying would move 8 GB here.
    frames, _ = split_all(splitter, chunks)
    assert frames == [body, b"ab"]
    assert splitter.held_bytes == 0
