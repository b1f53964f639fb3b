"""Retries with exponential backoff: the wait times, and a queue of pending attempts.

Does not know what is tried or whether it succeeded: the caller reports success by `discard`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, TypeVar

from penstock.kernel.instant import MILLISECOND, Duration, Instant
from penstock.kernel.timers import Timers

Key = TypeVar("Key", bound=Hashable)

# Delay of an entry that was due but found no token; it does not count as an attempt.
POSTPONED_NS: Final[Duration] = 50 * MILLISECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Doubles the wait after each attempt, `doublings_max` times, up to `max_ns`."""

    first_ns: Duration
    max_ns: Duration | None = None
    doublings_max: int

    def __post_init__(self) -> None:
        assert self.first_ns >= 1, self
        assert self.doublings_max >= 0, self
        assert self.max_ns is None or self.max_ns >= self.first_ns, self

    def wait_ns(self, attempts: int, *, least_ns: Duration = 0) -> Duration:
        """The wait after an attempt that `attempts` earlier ones preceded.

        `least_ns`, such as a round trip, replaces `first_ns` if it is longer.
        """
        assert attempts >= 0, attempts
        begin_ns = max(self.first_ns, least_ns)
        wait_ns = begin_ns << min(attempts, self.doublings_max)
        return wait_ns if self.max_ns is None else min(wait_ns, self.max_ns)


class SharedLimit:
    """A bound on the total entries of several queues."""

    __slots__ = ("left",)

    def __init__(self, max_entries: int) -> None:
        assert max_entries >= 0, max_entries
        self.left = max_entries


class RetryQueue(Generic[Key]):
    """Keys to try until they are discarded, at most `attempts_max` times each."""

    __slots__ = (
        "_attempts",
        "_attempts_max",
        "_backoff",
        "_limit",
        "_max_entries",
        "_timers",
        "given_up",
    )

    def __init__(
        self, backoff: Backoff, *, attempts_max: int, max_entries: int, limit: SharedLimit
    ) -> None:
        assert attempts_max >= 1, attempts_max
        assert max_entries >= 1, max_entries
        self._backoff: Final = backoff
        self._attempts_max: Final = attempts_max
        self._max_entries: Final = max_entries
        self._limit: Final = limit
        self._attempts: Final[dict[Key, int]] = {}
        self._timers: Final[Timers[Key]] = Timers()
        # Entries that ran out of attempts, or for which there was no room.
        self.given_up = 0

    def __len__(self) -> int:
        return len(self._attempts)

    def __contains__(self, key: Key) -> bool:
        return key in self._attempts

    def attempts(self, key: Key) -> int:
        """The number of attempts so far."""
        return self._attempts[key]

    def add(self, keys: Sequence[Key], at: Instant, *, skipped: int = 0) -> None:
        """Schedules keys that are not queued yet; if there are too many, the oldest are given up.

        `skipped` is the number of further keys that the caller left out; they count as given up.
        """
        assert skipped >= 0, skipped
        self.given_up += skipped + max(0, len(keys) - self._max_entries)
        for key in keys[-self._max_entries :]:
            if key in self._attempts:
                continue
            if not self._limit.left:
                self.given_up += 1
                continue
            self._limit.left -= 1
            self._attempts[key] = 0
            self._timers.set(key, at)
        excess = len(self._attempts) - self._max_entries
        for key in list(islice(self._attempts, max(0, excess))):
            self.discard(key)
            self.given_up += 1

    def discard(self, key: Key) -> None:
        """Removes a key that succeeded or is no longer needed; an unknown key is no error."""
        if self._attempts.pop(key, None) is not None:
            self._limit.left += 1
            self._timers.cancel(key)

    def clear(self) -> None:
        """Removes all keys."""
        for key in list(self._attempts):
            self.discard(key)

    def due(self, now: Instant, *, least_ns: Duration = 0) -> Iterator[Key]:
        """Yields the keys to try now and counts an attempt for each; gives up exhausted ones."""
        for key in self._timers.due(now):
            attempts = self._attempts[key]
            if attempts >= self._attempts_max:
                self.discard(key)
                self.given_up += 1
                continue
            self._attempts[key] = attempts + 1
            self._timers.set(key, now + self._backoff.wait_ns(attempts, least_ns=least_ns))
            yield key

    def postpone(self, keys: Iterable[Key], at: Instant) -> None:
        """Reschedules keys that were due but could not be tried; takes back the counted attempt."""
        for key in keys:
            assert self._attempts[key] > 0, f"{key} was not due"
            self._attempts[key] -= 1
            self._timers.set(key, at)

    def next_wakeup(self) -> Instant | None:
        """The time at which the next key is due."""
        return self._timers.next_wakeup()
