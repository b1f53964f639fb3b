"""What a transport promises, checked from outside: by what came, what was asked for, and its facts.

    once      a message is handed to a subscription once, and only if it came
    exact     it was published, and matches the subscription's exact predicate
    order     what is said to be delivered in order is, and what is called late is not
    patience  nothing waits longer than its subscription allows, by the host's own clock
    receipts  whatever came and matches has a receipt, at the latest when all is closed
    fates     a missing number ends once, along the table of transitions, and not as given up
              if it came; what a record told of is missed
    bounds    nothing held or remembered is more than allowed, and no timer is left over
    counts    what was dropped is counted, each under its own name
    losses, delays   what recovery does: see `repairs`

Judges by `heard`, a naive twin that is told all that the network hands over. Of
the endpoint itself it looks at sizes, counters and the numbers that it misses.
What a crash ends is not promised anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from penstock.content.filter import Predicate
from penstock.kernel.instant import Instant, to_seconds
from penstock.sim.checkers import endpoint_bounds, record_oracle, repairs
from penstock.sim.checkers.base import Violation
from penstock.sim.checkers.checker_runner import VIOLATIONS_MAX, CheckFailed
from penstock.sim.checkers.endpoint_history import Asked, Came, Life, Told, Track
from penstock.sim.checkers.naive_receiver import Heard
from penstock.sim.host import Host
from penstock.sim.world import World
from penstock.trace.fates import RECEIVED, TRANSITIONS, MissingState, ReceiverFate
from penstock.transport.facts import Absence, Delivery, Unseen
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.repair import Repair

# A clock that drifts may show the next nanosecond but one.
_SLACK_NS: Final = 2
_COMES: Final = RECEIVED | {ReceiverFate.DROPPED_LATE}


class TransportCheck:
    """Tell it of everything that happens at endpoints, then ask for the `verdict`.

    `steps` are the global times at which each host's clock is set; with `garbles`
    what arrives need not be what was published.
    """

    def __init__(
        self,
        world: World[Any],
        *,
        publishers_max: int,
        steps: Mapping[str, Sequence[Instant]],
        garbles: bool,
    ) -> None:
        self.violations: Final[list[Violation]] = []
        self.published: Final[dict[MessageId, Data]] = {}
        self._world: Final = world
        self._publishers_max: Final = publishers_max
        self._steps: Final = steps
        self._garbles: Final = garbles
        self._lives: Final[dict[str, Life]] = {}

    def verdict(self) -> None:
        """Raises if there was anything to object to."""
        if self.violations:
            raise CheckFailed("\n".join(map(str, self.violations)))

    def _object(self, check: str, place: str, what: str) -> None:
        if sum(violation.checker == check for violation in self.violations) < VIOLATIONS_MAX:
            self.violations.append(Violation(self._world.now, check, place, what))

    def _life(self, name: str) -> Life:
        machine = self._world.host(name).machine
        life = self._lives.get(name)
        if life is None or life.machine is not machine:
            life = self._lives[name] = Life(name, machine, self._publishers_max)
        return life

    # What applications do.

    def publish(self, frame: Data) -> None:
        """A message leaves."""
        self.published[frame.id] = frame

    def subscribe(
        self, name: str, number: int, predicate: Predicate, ordering: OrderingSettings
    ) -> None:
        """An application asked for something."""
        self._life(name).asked[number] = Asked.begin(number, predicate, ordering)

    def volunteer(self, name: str, predicate: Predicate) -> None:
        """It keeps messages for others."""
        self._life(name).offers.append(predicate)

    def adjust(
        self, name: str, number: int, ordering: OrderingSettings, *, local_ns: Instant
    ) -> None:
        """It wants it ordered in another way; what that hands over or ends is still to be told."""
        self._life(name).asked[number].adjust(ordering, local_ns)

    def adjusted(self, name: str, number: int) -> None:
        """All of that was told."""
        life = self._life(name)
        asked = life.asked[number]
        if not asked.is_ordered:
            # What is missing may still come; what came has nothing to wait for.
            for what in asked.unheard():
                self._object("receipts", name, f"subscription {number} orders no more: {what}")
        self._look_at(life)

    def unsubscribed(self, name: str, number: int) -> None:
        """It had enough, and what was held was handed over."""
        life = self._life(name)
        for what in life.asked.pop(number).unfinished():
            check = "receipts" if what.startswith("no receipt") else "fates"
            self._object(check, name, f"subscription {number} is over: {what}")
        self._look_at(life)

    # What the network hands over.

    def arrived(self, name: str, frame: Any) -> None:
        """The endpoint hears it next."""
        life = self._life(name)
        self._settle(life)
        # As soon as it has dealt with it.
        self._world.events.schedule(self._world.now, self._settle, life)
        if type(frame) is not Data:
            self._arrived_other(life, frame)
            return
        hearing = life.publishers.hear(frame, life.missed(frame.pub))
        for heard in hearing.ended:
            life.ended[heard.pub, heard.epoch] = heard
        life.touched[frame.pub] = None
        if hearing.refusal is not None:
            life.counted[hearing.refusal] += 1
            return
        if not life.is_wanted(frame.message):
            life.counted["unmatched"] += 1
        self._expect_all(life, frame, hearing.heard, hearing.number)

    def _arrived_other(self, life: Life, frame: Any) -> None:
        if life.machine.recovery is None or type(frame) not in repairs.TAKEN:
            life.counted["not_data"] += 1
        elif type(frame) is Digest:
            life.touched[frame.pub] = None
        elif type(frame) is Repair:
            taken = repairs.hear(life, frame)
            if taken is not None:
                self._expect_all(life, frame.original, *taken, is_repair=True)

    def _expect_all(
        self, life: Life, frame: Data, heard: Heard, number: int, *, is_repair: bool = False
    ) -> None:
        """Every subscription that wants it gets it."""
        now, local_ns = self._world.now, self._world.host(life.name).now
        for asked in life.asked.values():
            if asked.predicate.matches(frame.message):
                since = asked.waiting_since(heard, now)
                came = Came(frame, heard, number, now, local_ns, since, is_repair)
                self._expect(life, asked, came)

    def _expect(self, life: Life, asked: Asked, came: Came) -> None:
        track = asked.tracks.get(came.heard)
        if track is None and asked.is_ordered and not came.is_repair:
            track = asked.tracks[came.heard] = Track(came.number - 1)
        if track is not None:
            if track.is_over(came.number):
                life.counted["after_end"] += 1
                return
            if asked.is_ordered and not came.is_repair and not self._garbles:
                life.told += record_oracle.by_record(life, asked, came, self.published)
            track.top = max(track.top, came.number)
        asked.expect(came)

    # What the endpoint tells.

    def fact(self, host: Host[Any, Any], item: object) -> None:
        """A receipt, an absence, or how many never came of which nothing else is known."""
        life = self._life(host.name)
        assert isinstance(item, Delivery | Absence | Unseen), f"{host.name} delivers {item!r}"
        asked = life.asked.get(item.subscription)
        if asked is None:
            self._object("receipts", host.name, f"subscription {item.subscription} is over: {item}")
        elif isinstance(item, Delivery):
            self._on_receipt(host, asked, item)
        elif isinstance(item, Absence):
            self._on_absence(life, asked, item)

    def _on_receipt(self, host: Host[Any, Any], asked: Asked, receipt: Delivery) -> None:
        frame = receipt.frame
        came = asked.take(frame.id)
        text = f"subscription {asked.number} gets {frame.id} as {receipt.fate}"
        if not asked.predicate.matches(frame.message):
            self._object("exact", host.name, f"{text}, which {asked.predicate} does not match")
        if came is None:
            self._object("once", host.name, f"{text}, which came before or never")
            return
        if not self._garbles and not self._is_published(came):
            self._object("exact", host.name, f"{text}, which nobody published")
        if receipt.frame != came.frame or receipt.arrived_ns != came.local_ns:
            self._object("once", host.name, f"{text}, which is not what came at {came.at} ns")
        key = (came.heard, came.number)
        if key in asked.receipts:
            self._object("once", host.name, f"{text} for the second time")
        asked.receipts.add(key)
        end = asked.ends.get(key)
        if end not in {None, receipt.fate}:
            self._object("fates", host.name, f"{text}, which was missing and ended as {end}")
        self._judge_wait(host, asked, came, receipt, text)
        self._judge_order(host.name, asked, came, receipt, text)

    def _is_published(self, came: Came) -> bool:
        published = self.published.get(came.frame.id)
        if came.is_repair and published is not None:
            published = repairs.as_repaired(published)
        return published == came.frame

    def _judge_wait(
        self, host: Host[Any, Any], asked: Asked, came: Came, receipt: Delivery, text: str
    ) -> None:
        if receipt.resolved_ns != host.now:
            self._object(
                "patience", host.name, f"{text} at {host.now}, and says {receipt.resolved_ns}"
            )
        if receipt.resolved_ns > self._latest_ns(asked, came) and not self._was_set(
            host.name, came.since
        ):
            waited_ns = receipt.resolved_ns - receipt.arrived_ns
            self._object("patience", host.name, f"{text} after {to_seconds(waited_ns):.6f} s")

    def _latest_ns(self, asked: Asked, came: Came) -> Instant:
        """When, by its own clock, a subscription must have a message."""
        latest_ns = came.local_ns
        if asked.is_ordered:
            latest_ns += asked.ordering.max_delay_ns
        if asked.adjusted_ns is not None:
            # It may have allowed more before.
            latest_ns = max(latest_ns, asked.adjusted_ns)
        return latest_ns + _SLACK_NS

    def _was_set(self, name: str, since: Instant) -> bool:
        return any(since <= at <= self._world.now for at in self._steps.get(name, ()))

    def _judge_order(
        self, name: str, asked: Asked, came: Came, receipt: Delivery, text: str
    ) -> None:
        track = asked.tracks.get(came.heard)
        if came.is_repair:
            self._judge_repair(name, asked, track, came, receipt, text)
            return
        if not asked.is_ordered:
            was_missing = (came.heard, came.number) in asked.ends
            if receipt.fate is not ReceiverFate.DELIVERED and not was_missing:
                self._object("order", name, f"{text}, and nothing is to be ordered")
            if track is not None:
                track.handed = max(
                    came.number, came.number if track.handed is None else track.handed
                )
            return
        assert track is not None
        is_late = track.handed is not None and came.number < track.handed
        if is_late != (receipt.fate is not ReceiverFate.DELIVERED):
            self._object("order", name, f"{text}, after {track.handed}")
        if (receipt.fate is ReceiverFate.DROPPED_LATE) != (
            is_late and asked.ordering.late == "drop"
        ):
            self._object("order", name, f"{text}, and is to {asked.ordering.late} what is late")
        if receipt.fate is ReceiverFate.DELIVERED:
            track.handed = came.number

    def _judge_repair(
        self,
        name: str,
        asked: Asked,
        track: Track | None,
        came: Came,
        receipt: Delivery,
        text: str,
    ) -> None:
        """It may come late, and is called what it is all the same."""
        is_late = track is not None and track.handed is not None and came.number < track.handed
        # Who does not order calls nothing late that it did not miss.
        is_judged = asked.is_ordered or (came.heard, came.number) in asked.ends
        drops = is_late and is_judged and asked.ordering.late == "drop"
        if receipt.fate is not (ReceiverFate.DROPPED_LATE if drops else ReceiverFate.REPAIRED):
            self._object("order", name, f"{text}, which others had kept")
        if track is not None and not is_late:
            track.handed = came.number

    def _on_absence(self, life: Life, asked: Asked, absence: Absence) -> None:
        text = f"subscription {asked.number} lacked {absence.id}: {absence.resolution}"
        heard = life.heard(absence.id)
        track = None if heard is None else asked.tracks.get(heard)
        if heard is None or track is None:
            self._object("fates", life.name, f"{text}, of which nothing came")
            return
        number = heard.number(absence.id.seq)
        if (heard, number) in asked.ends:
            self._object("fates", life.name, f"{text}, for the second time")
        asked.ends[heard, number] = absence.resolution
        track.missing.discard(number)
        if absence.resolution is ReceiverFate.GIVEN_UP:
            track.give_up(number, asked.ordering.missing_max)
        # What a record shows to be for us may turn out not to be.
        allowed = TRANSITIONS[absence.state]
        if absence.resolution not in allowed:
            self._object("fates", life.name, f"{text}, from {absence.state}")
        if (absence.lost_ns is not None) != (absence.state is MissingState.LOST):
            self._object("fates", life.name, f"{text}, {absence.state}, lost at {absence.lost_ns}")
        came = number in heard.numbers or number in heard.passed
        if came != (absence.resolution is not ReceiverFate.GIVEN_UP):
            self._object("fates", life.name, f"{text}, {'which' if came else 'and never'} came")
        waits = absence.id in asked.waiting
        if (absence.resolution in _COMES) != waits:
            self._object("fates", life.name, f"{text}, and there {'is' if waits else 'is no'} one")

    # What can be looked at.

    def look(self) -> None:
        """At everything, between events."""
        for name, life in self._lives.items():
            if self._world.host(name).is_up and life is self._life(name):
                life.touched.update(dict.fromkeys(life.publishers.all))
                self._settle(life)
                self._look_at(life)

    def _settle(self, life: Life) -> None:
        """The endpoint has dealt with what came."""
        if life is not self._lives[life.name]:
            return
        for heard in life.ended.values():
            for asked in life.asked.values():
                for what in asked.unfinished(heard):
                    check = "receipts" if what.startswith("no receipt") else "fates"
                    self._object(check, life.name, f"{heard.pub} began anew: {what}")
                asked.tracks.pop(heard, None)
        life.ended.clear()
        for pub in life.touched:
            self._compare_missing(life, pub)
        life.touched.clear()
        for hint in life.told:
            self._judge_told(life, hint)
        life.told.clear()
        for pub, before in life.delays.items():
            after = repairs.delays(life, pub)
            if any(after.get(settings, known) != known for settings, known in before.items()):
                self._object("delays", life.name, f"a repair told of the delays of {pub}")
        life.delays.clear()

    def _compare_missing(self, life: Life, pub: int) -> None:
        heard, arrivals = life.publishers.all.get(pub), life.machine._images.get(pub)
        if heard is None or arrivals is None:
            return
        for number, stream in arrivals.streams.items():
            track = life.asked[number].tracks.get(heard) if number in life.asked else None
            if track is None:
                self._object("fates", life.name, f"subscription {number} orders {pub} in vain")
                continue
            for gone in sorted(track.missing - stream.missing.keys()):
                self._object("fates", life.name, f"subscription {number} forgot {gone} of {pub}")
            track.missing = set(stream.missing)
            for again in sorted(track.missing):
                if again in heard.numbers:
                    self._object("fates", life.name, f"{again} of {pub} came, and is missing")
                # What a repair showed not to be for us may be told of again.
                ends = life.asked[number].ends
                if again in heard.passed and ends.get((heard, again)) is MissingState.IRRELEVANT:
                    del ends[heard, again]
                if (heard, again) in ends:
                    self._object("fates", life.name, f"{again} of {pub} is missing again")

    def _judge_told(self, life: Life, hint: Told) -> None:
        track = hint.asked.tracks.get(hint.heard)
        if (
            track is not None
            and hint.number not in track.missing
            and (hint.heard, hint.number) not in hint.asked.ends
            and life.machine.counters["missing_overflow"] == hint.overflows
        ):
            what = f"subscription {hint.asked.number} does not miss {hint.number}"
            self._object("fates", life.name, f"{what} of {hint.heard.pub}, which it was told of")

    def _look_at(self, life: Life) -> None:
        host = self._world.host(life.name)
        for check, what in endpoint_bounds.objections(life):
            self._object(check, life.name, what)
        for asked in life.asked.values():
            for row in asked.waiting.values():
                for came in row:
                    is_over = host.now > self._latest_ns(asked, came)
                    if is_over and not self._was_set(life.name, came.since):
                        self._object("patience", life.name, f"{came.frame.id} waits too long")
