"""What a terminal shows while a cast runs."""

from __future__ import annotations

import pytest

from penstock.cli.cast import receive, send
from penstock.cli.progress import Speed
from penstock.live.cast.cast_receiver import ReceiverProgress, ReceiverStage
from penstock.live.cast.cast_sender import SenderProgress


def speed_at(now: list[float]) -> Speed:
    return Speed(clock=lambda: now[0])


def test_speed_is_that_of_the_last_seconds() -> None:
    now = [0.0]
    speed = speed_at(now)
    assert speed.of(0) == 0
    for _ in range(20):
        now[0] += 0.5
        speed.of(0)
    now[0] += 0.5
    assert speed.of(7_000) == pytest.approx(2_000)
    # It begins again.
    now[0] += 0.5
    assert speed.of(0) == 0


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (SenderProgress(False, 0, 0, 0, 0, 10), "waiting for receivers: 0 of 3 joined"),
        (
            SenderProgress(True, 0, 0, 0, 1_200_000, 24_000_000),
            "all receivers have left: waiting until one comes back",
        ),
        (
            SenderProgress(True, 1, 0, 0, 1_200_000, 24_000_000),
            "1 receiver, 0 done: 1.2 MB sent of 24.0 MB, 0.0 MB/s",
        ),
        (
            SenderProgress(True, 3, 2, 1, 25_000_000, 24_000_000),
            "3 receivers, 2 done: 25.0 MB sent of 24.0 MB, repairs 1, 0.0 MB/s",
        ),
    ],
)
def test_a_sender_says_who_is_done(progress: SenderProgress, text: str) -> None:
    assert send._progress_text(progress, 3, speed_at([0.0])) == text


def test_a_receiver_says_what_it_does() -> None:
    texts = [
        receive._progress_text(ReceiverProgress(stage, 12_300_000, 24_000_000), speed_at([0.0]))
        for stage in ReceiverStage
    ]
    assert texts == [
        "verifying what is here already",
        "waiting for a sender",
        "joined, waiting for the sender to begin",
        "12.3 of 24.0 MB, 0.0 MB/s",
        "12.3 of 24.0 MB, verifying",
        "complete, waiting for the others",
    ]
