"""From what comes out of doubt to what a feed hands out, and what has to wait for credit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from penstock.guaranteed.host.feed import Feed
from penstock.guaranteed.host.reader import Decided
from penstock.guaranteed.settings import HostSettings
from penstock.kernel.instant import Instant
from penstock.wire.frames.guaranteed.knowledge import Gap


def follow_live(
    feed: Feed, decided: Sequence[Decided], doubt: int, *, settings: HostSettings, now: Instant
) -> None:
    """Hands out what a feed of reader 0 wants; what has to wait is kept, within a bound.

    What has waited goes first: nobody says when a connection has room again.
    """
    if not feed.pending or hand_out_pending(feed, now=now):
        done = _hand_out(feed, decided, now)
        if done == len(decided):
            feed.position = max(feed.position, doubt)
            return
        decided = decided[done:]
    feed.wait(decided)
    if len(feed.pending) > settings.waiting_messages or feed.pending_bytes > settings.waiting_bytes:
        # It falls behind, and reads what it has not got by itself.
        leave_live(feed)


def leave_live(feed: Feed) -> None:
    """It follows reader 0 no more; what has waited is read again."""
    feed.is_live = False
    feed.pending.clear()
    feed.pending_bytes = 0


def hand_out_pending(feed: Feed, *, now: Instant) -> bool:
    """Hands out what has waited; False if some of it still has to."""
    feed.drop_pending(_hand_out(feed, feed.pending, now))
    return not feed.pending


def _hand_out(feed: Feed, decided: Iterable[Decided], now: Instant) -> int:
    """Hands out what a feed wants, up to what has to wait; returns how many are dealt with."""
    subscription = feed.subscription
    done = subscription.hand_out_untried(feed, decided)
    for each in islice(decided, done, None):
        if isinstance(each, Gap):
            subscription.tell_gap(feed, each)
        elif feed.wants(each) and not subscription.offer(feed, each, now=now):
            feed.position = max(feed.position, each.tick)
            break
        done += 1
    return done
