"""Checks the guarantees of a transport from arrivals, subscriptions and the endpoint's facts.

    once      a message is delivered to a subscription once, and only if it arrived
    exact     it was published, and matches the subscription's exact predicate
    order     a message reported as in order is in order, and one reported as late is late
    patience  no message waits longer than its subscription allows, by the host's own clock
    receipts  every arrived message that matches has a receipt, at the latest when its
              subscription or its publisher's epoch ends
    fates     a missing message is resolved once, along the table of transitions, and not as
              given up if it arrived; a message that a record revealed is missing
    bounds    buffers and tables stay within their limits, and no timer is left over
    counts    every dropped frame is counted under the right name
    losses, delays   recovery: see `repairs`
    source, sequence, stall, start, numbers   sending: see `send_queue`

The reference is `naive_receiver`, a naive twin that gets all messages that the network delivers.
Of the endpoint itself the checks read statistics and counters, such as table sizes and missing
numbers. Nothing is guaranteed for the state that a crash destroys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from penstock.content.filter import Filter, Predicate
from penstock.content.message import Message
from penstock.kernel.instant import Instant, to_seconds
from penstock.sim.checkers import control, endpoint_bounds, record_oracle, repairs
from penstock.sim.checkers.base import Violation
from penstock.sim.checkers.checker_runner import VIOLATIONS_MAX, CheckFailed
from penstock.sim.checkers.endpoint_history import (
    EndpointHistory,
    MessageArrival,
    Reported,
    StreamState,
    SubscriptionHistory,
)
from penstock.sim.checkers.naive_receiver import NaiveImage
from penstock.sim.checkers.send_queue import NaiveSendQueue, Objection
from penstock.sim.host import Host
from penstock.sim.world import World
from penstock.trace.fates import RECEIVED, TRANSITIONS, MissingState, ReceiverFate
from penstock.transport.facts import Absence, Delivery, DroppedAtSource, Sent, Unseen
from penstock.transport.settings import OrderingSettings
from penstock.wire.frames.data import Data, MessageId
from penstock.wire.frames.digest import Digest
from penstock.wire.frames.repair import Repair

# A drifting clock may read up to 2 ns past a deadline.
_SLACK_NS: Final = 2
_ARRIVED_FATES: Final = RECEIVED | {ReceiverFate.DROPPED_LATE}


class TransportChecker:
    """Observes all events at endpoints; `raise_if_violated` gives the verdict.

    `clock_steps` are the global times at which each host's clock is set. With `corrupts_frames`,
    a frame may arrive altered. `filters` are all filters that any application subscribes to.
    """

    def __init__(
        self,
        world: World[Any],
        *,
        publishers_max: int,
        clock_steps: Mapping[str, Sequence[Instant]],
        corrupts_frames: bool,
        filters: Sequence[Filter] = (),
    ) -> None:
        self.violations: Final[list[Violation]] = []
        self.published: Final[dict[MessageId, Data]] = {}
        self._world: Final = world
        self._publishers_max: Final = publishers_max
        self._clock_steps: Final = clock_steps
        self._corrupts_frames: Final = corrupts_frames
        # A corrupted frame may carry any filter.
        self._filters: Final = None if corrupts_frames else filters
        self._histories: Final[dict[str, EndpointHistory]] = {}
        self._ended_histories: Final[list[EndpointHistory]] = []

    def raise_if_violated(self) -> None:
        """Raises `CheckFailed` if there are violations."""
        if self.violations:
            raise CheckFailed("\n".join(map(str, self.violations)))

    def _report(self, check: str, place: str, what: str) -> None:
        if sum(violation.checker == check for violation in self.violations) < VIOLATIONS_MAX:
            self.violations.append(Violation(self._world.now, check, place, what))

    def _report_all(self, name: str, objections: Iterable[Objection]) -> None:
        for check, what in objections:
            self._report(check, name, what)

    def _history(self, name: str) -> EndpointHistory:
        machine = self._world.host(name).machine
        history = self._histories.get(name)
        if history is None or history.machine is not machine:
            if history is not None:
                self._ended_histories.append(history)
            history = self._histories[name] = EndpointHistory(name, machine, self._publishers_max)
        return history

    # Actions of applications.

    def publish(self, frame: Data) -> None:
        """Records a message that is sent."""
        self.published[frame.id] = frame

    def submit(self, name: str, message: Message) -> None:
        """Records a submitted message, which is sent at once, sent later or dropped."""
        history, host = self._history(name), self._world.host(name)
        if history.send_queue is None:
            history.send_queue = NaiveSendQueue(history.machine.settings.congestion, self._filters)
        found = history.send_queue.on_submitted(message, local_ns=host.now, now=self._world.now)
        self._report_all(name, found)

    def subscribe(
        self, name: str, subscription_id: int, predicate: Predicate, ordering: OrderingSettings
    ) -> None:
        """Records a new subscription."""
        self._history(name).subscriptions[subscription_id] = SubscriptionHistory.create(
            subscription_id, predicate, ordering
        )

    def open_cache(self, name: str, predicate: Predicate) -> None:
        """Records the predicate of messages that the endpoint caches for others."""
        self._history(name).cached_predicates.append(predicate)

    def reconfigure(
        self, name: str, subscription_id: int, ordering: OrderingSettings, *, local_ns: Instant
    ) -> None:
        """Records a new ordering, before the deliveries and absences that it causes."""
        self._history(name).subscriptions[subscription_id].reconfigure(ordering, local_ns)

    def reconfigured(self, name: str, subscription_id: int) -> None:
        """Checks a subscription after the facts that a new ordering caused."""
        history = self._history(name)
        subscription = history.subscriptions[subscription_id]
        if not subscription.is_ordered:
            # Missing messages may still arrive, but without ordering no arrived message may wait.
            for what in subscription.undelivered():
                self._report(
                    "receipts", name, f"subscription {subscription_id} orders no more: {what}"
                )
        self._inspect_endpoint(history)

    def unsubscribed(self, name: str, subscription_id: int) -> None:
        """Ends a subscription; all its messages must have been delivered or resolved."""
        history = self._history(name)
        for what in history.subscriptions.pop(subscription_id).unresolved():
            check = "receipts" if what.startswith("no receipt") else "fates"
            self._report(check, name, f"subscription {subscription_id} is over: {what}")
        self._inspect_endpoint(history)

    # Frames from the network.

    def on_arrived(self, name: str, frame: Any) -> None:
        """Records a frame that the endpoint is about to receive."""
        history = self._history(name)
        self._check_settled(history)
        # Runs as soon as the endpoint has handled the frame.
        self._world.events.schedule(self._world.now, self._check_settled, history)
        if type(frame) is not Data:
            self._on_other_frame(history, frame)
            return
        if frame.congestion_experienced:
            # Only congestion control uses the mark.
            frame = replace(frame, congestion_experienced=False)
        history.received_publishers.add(frame.pub)
        reception = history.receiver.receive(frame, history.missing_of(frame.pub))
        for image in reception.closed:
            history.closed_images[image.pub, image.epoch] = image
        history.touched_publishers[frame.pub] = None
        if reception.refusal is not None:
            history.expected_counters[reception.refusal] += 1
            return
        if not history.has_interest(frame.message):
            history.expected_counters["unmatched"] += 1
        self._expect_all(history, frame, reception.image, reception.extended_seq)

    def _on_other_frame(self, history: EndpointHistory, frame: Any) -> None:
        if history.machine.congestion is not None and type(frame) in control.CONGESTION_FRAMES:
            control.receive_frame(history, frame)
        elif history.machine.recovery is None or type(frame) not in repairs.RECOVERY_FRAMES:
            history.expected_counters["not_data"] += 1
        elif type(frame) is Digest:
            history.touched_publishers[frame.pub] = None
        elif type(frame) is Repair:
            received = repairs.receive_repair(history, frame)
            if received is not None:
                self._expect_all(history, frame.original, *received, is_repair=True)

    def _expect_all(
        self,
        history: EndpointHistory,
        frame: Data,
        image: NaiveImage,
        extended_seq: int,
        *,
        is_repair: bool = False,
    ) -> None:
        """Expects a delivery to every subscription that matches the message."""
        now, local_ns = self._world.now, self._world.host(history.name).now
        for subscription in history.subscriptions.values():
            if subscription.predicate.matches(frame.message):
                since = subscription.waiting_since(image, now)
                arrival = MessageArrival(
                    frame, image, extended_seq, now, local_ns, since, is_repair
                )
                self._expect(history, subscription, arrival)

    def _expect(
        self, history: EndpointHistory, subscription: SubscriptionHistory, arrival: MessageArrival
    ) -> None:
        stream_state = subscription.stream_states.get(arrival.image)
        if stream_state is None and subscription.is_ordered and not arrival.is_repair:
            stream_state = subscription.stream_states[arrival.image] = StreamState(
                arrival.extended_seq - 1
            )
        if stream_state is not None:
            if stream_state.is_resolved(arrival.extended_seq):
                history.expected_counters["after_end"] += 1
                return
            if subscription.is_ordered and not arrival.is_repair and not self._corrupts_frames:
                history.reported += record_oracle.reported_by_record(
                    history, subscription, arrival, self.published
                )
            stream_state.highest_received = max(stream_state.highest_received, arrival.extended_seq)
        subscription.expect(arrival)

    # Facts from the endpoint.

    def on_fact(self, host: Host[Any, Any], item: object) -> None:
        """Checks a receipt or an absence; a count of unseen messages only needs a subscription."""
        history = self._history(host.name)
        assert isinstance(item, Delivery | Absence | Unseen), f"{host.name} delivers {item!r}"
        subscription = history.subscriptions.get(item.subscription)
        if subscription is None:
            self._report("receipts", host.name, f"subscription {item.subscription} is over: {item}")
        elif isinstance(item, Delivery):
            self._on_delivery(host, subscription, item)
        elif isinstance(item, Absence):
            self._on_missing(history, subscription, item)

    def on_sent(self, host: Host[Any, Any], sent: Sent) -> None:
        """Checks a submitted message that is sent; only now does it count as published."""
        self.publish(sent.frame)
        found = self._send_queue(host.name).on_sent(
            sent,
            local_ns=host.now,
            now=self._world.now,
            clock_was_stepped=self._clock_was_stepped(host.name, 0),
        )
        self._report_all(host.name, found)

    def on_dropped(self, host: Host[Any, Any], dropped: DroppedAtSource) -> None:
        """Checks a message dropped at its source; it never counts as published."""
        queue = self._send_queue(host.name)
        found = queue.on_dropped(dropped, local_ns=host.now, now=self._world.now)
        self._report_all(host.name, found)

    def _send_queue(self, name: str) -> NaiveSendQueue:
        queue = self._history(name).send_queue
        assert queue is not None, f"{name} reports a message, and nothing was submitted"
        return queue

    def count_submitted(self) -> Counter[str]:
        """Counts the submitted messages of all hosts by outcome."""
        counts: Counter[str] = Counter()
        for history in [*self._ended_histories, *self._histories.values()]:
            queue = history.send_queue
            if queue is None:
                continue
            is_current = (
                self._histories[history.name] is history and self._world.host(history.name).is_up
            )
            counts["submitted"] += queue.submitted
            counts["sent"] += queue.sent
            counts["sent later"] += queue.delayed
            counts["dropped at source"] += queue.dropped_at_source
            counts["queued" if is_current else "lost with host"] += len(queue)
        ends = ("sent", "dropped at source", "queued", "lost with host")
        if counts["submitted"] != sum(counts[end] for end in ends):
            self._report("source", "all", f"messages are not accounted for: {dict(counts)}")
        return counts

    def _on_delivery(
        self, host: Host[Any, Any], subscription: SubscriptionHistory, delivery: Delivery
    ) -> None:
        frame = delivery.frame
        arrival = subscription.pop(frame.id)
        text = f"subscription {subscription.subscription_id} gets {frame.id} as {delivery.fate}"
        if not subscription.predicate.matches(frame.message):
            self._report(
                "exact", host.name, f"{text}, which {subscription.predicate} does not match"
            )
        if arrival is None:
            self._report("once", host.name, f"{text}, which came before or never")
            return
        if not self._corrupts_frames and not self._is_published(arrival):
            self._report("exact", host.name, f"{text}, which nobody published")
        if delivery.frame != arrival.frame or delivery.arrived_ns != arrival.local_ns:
            self._report("once", host.name, f"{text}, which is not what came at {arrival.at} ns")
        key = (arrival.image, arrival.extended_seq)
        if key in subscription.delivered:
            self._report("once", host.name, f"{text} for the second time")
        subscription.delivered.add(key)
        fate = subscription.fates.get(key)
        if fate not in {None, delivery.fate}:
            self._report("fates", host.name, f"{text}, which was missing and ended as {fate}")
        self._check_wait(host, subscription, arrival, delivery, text)
        self._check_order(host.name, subscription, arrival, delivery, text)

    def _is_published(self, arrival: MessageArrival) -> bool:
        published = self.published.get(arrival.frame.id)
        if arrival.is_repair and published is not None:
            published = repairs.as_repaired(published)
        return published == arrival.frame

    def _check_wait(
        self,
        host: Host[Any, Any],
        subscription: SubscriptionHistory,
        arrival: MessageArrival,
        delivery: Delivery,
        text: str,
    ) -> None:
        if delivery.resolved_ns != host.now:
            self._report(
                "patience", host.name, f"{text} at {host.now}, and says {delivery.resolved_ns}"
            )
        if delivery.resolved_ns > self._latest_ns(
            subscription, arrival
        ) and not self._clock_was_stepped(host.name, arrival.since):
            waited_ns = delivery.resolved_ns - delivery.arrived_ns
            self._report("patience", host.name, f"{text} after {to_seconds(waited_ns):.6f} s")

    def _latest_ns(self, subscription: SubscriptionHistory, arrival: MessageArrival) -> Instant:
        """The latest time of delivery, by the host's own clock."""
        latest_ns = arrival.local_ns
        if subscription.is_ordered:
            latest_ns += subscription.ordering.max_delay_ns
        if subscription.reconfigured_ns is not None:
            # The previous ordering may have allowed a longer wait.
            latest_ns = max(latest_ns, subscription.reconfigured_ns)
        return latest_ns + _SLACK_NS

    def _clock_was_stepped(self, name: str, since: Instant) -> bool:
        return any(since <= at <= self._world.now for at in self._clock_steps.get(name, ()))

    def _check_order(
        self,
        name: str,
        subscription: SubscriptionHistory,
        arrival: MessageArrival,
        delivery: Delivery,
        text: str,
    ) -> None:
        stream_state = subscription.stream_states.get(arrival.image)
        if arrival.is_repair:
            self._check_repair(name, subscription, stream_state, arrival, delivery, text)
            return
        if not subscription.is_ordered:
            was_missing = (arrival.image, arrival.extended_seq) in subscription.fates
            if delivery.fate is not ReceiverFate.DELIVERED and not was_missing:
                self._report("order", name, f"{text}, and nothing is to be ordered")
            if stream_state is not None:
                stream_state.highest_delivered = max(
                    arrival.extended_seq,
                    arrival.extended_seq
                    if stream_state.highest_delivered is None
                    else stream_state.highest_delivered,
                )
            return
        assert stream_state is not None
        is_late = (
            stream_state.highest_delivered is not None
            and arrival.extended_seq < stream_state.highest_delivered
        )
        if is_late != (delivery.fate is not ReceiverFate.DELIVERED):
            self._report("order", name, f"{text}, after {stream_state.highest_delivered}")
        if (delivery.fate is ReceiverFate.DROPPED_LATE) != (
            is_late and subscription.ordering.late == "drop"
        ):
            self._report(
                "order", name, f"{text}, and is to {subscription.ordering.late} what is late"
            )
        if delivery.fate is ReceiverFate.DELIVERED:
            stream_state.highest_delivered = arrival.extended_seq

    def _check_repair(
        self,
        name: str,
        subscription: SubscriptionHistory,
        stream_state: StreamState | None,
        arrival: MessageArrival,
        delivery: Delivery,
        text: str,
    ) -> None:
        """Checks the fate of a repaired message, which is repaired even if late, unless dropped."""
        is_late = (
            stream_state is not None
            and stream_state.highest_delivered is not None
            and arrival.extended_seq < stream_state.highest_delivered
        )
        # Without ordering, only a message that was missing can be late.
        is_judged = (
            subscription.is_ordered or (arrival.image, arrival.extended_seq) in subscription.fates
        )
        drops = is_late and is_judged and subscription.ordering.late == "drop"
        if delivery.fate is not (ReceiverFate.DROPPED_LATE if drops else ReceiverFate.REPAIRED):
            self._report("order", name, f"{text}, which others had kept")
        if stream_state is not None and not is_late:
            stream_state.highest_delivered = arrival.extended_seq

    def _on_missing(
        self, history: EndpointHistory, subscription: SubscriptionHistory, missing: Absence
    ) -> None:
        text = (
            f"subscription {subscription.subscription_id} lacked {missing.id}: {missing.resolution}"
        )
        image = history.image_of(missing.id)
        stream_state = None if image is None else subscription.stream_states.get(image)
        if image is None or stream_state is None:
            self._report("fates", history.name, f"{text}, of which nothing came")
            return
        extended_seq = image.unwrap(missing.id.seq)
        if (image, extended_seq) in subscription.fates:
            self._report("fates", history.name, f"{text}, for the second time")
        subscription.fates[image, extended_seq] = missing.resolution
        stream_state.missing.discard(extended_seq)
        if missing.resolution is ReceiverFate.GIVEN_UP:
            stream_state.give_up(extended_seq, subscription.ordering.missing_max)
        # A message that a record showed as matching may turn out not to match.
        allowed = TRANSITIONS[missing.state]
        if missing.resolution not in allowed:
            self._report("fates", history.name, f"{text}, from {missing.state}")
        if (missing.lost_ns is not None) != (missing.state is MissingState.LOST):
            self._report(
                "fates", history.name, f"{text}, {missing.state}, lost at {missing.lost_ns}"
            )
        has_arrived = extended_seq in image.received or extended_seq in image.irrelevant
        if has_arrived != (missing.resolution is not ReceiverFate.GIVEN_UP):
            self._report(
                "fates", history.name, f"{text}, {'which' if has_arrived else 'and never'} came"
            )
        is_pending = missing.id in subscription.pending
        if (missing.resolution in _ARRIVED_FATES) != is_pending:
            self._report(
                "fates", history.name, f"{text}, and there {'is' if is_pending else 'is no'} one"
            )

    # Inspection between events.

    def inspect(self) -> None:
        """Checks all running endpoints, between events."""
        for name, history in self._histories.items():
            if self._world.host(name).is_up and history is self._history(name):
                history.touched_publishers.update(dict.fromkeys(history.receiver.images))
                self._check_settled(history)
                self._inspect_endpoint(history)

    def _check_settled(self, history: EndpointHistory) -> None:
        """Checks an endpoint that has handled all arrived frames."""
        if history is not self._histories[history.name]:
            return
        for image in history.closed_images.values():
            for subscription in history.subscriptions.values():
                for what in subscription.unresolved(image):
                    check = "receipts" if what.startswith("no receipt") else "fates"
                    self._report(check, history.name, f"{image.pub} began anew: {what}")
                subscription.stream_states.pop(image, None)
        history.closed_images.clear()
        for publisher in history.touched_publishers:
            self._compare_missing(history, publisher)
        history.touched_publishers.clear()
        for reported in history.reported:
            self._check_reported(history, reported)
        history.reported.clear()
        for publisher, before in history.delays_before.items():
            after = repairs.delays(history, publisher)
            if any(after.get(settings, known) != known for settings, known in before.items()):
                self._report("delays", history.name, f"a repair told of the delays of {publisher}")
        history.delays_before.clear()

    def _compare_missing(self, history: EndpointHistory, publisher: int) -> None:
        image, statistics = (
            history.receiver.images.get(publisher),
            history.machine.publisher_statistics(publisher),
        )
        if image is None or statistics is None:
            return
        for stream in statistics.streams:
            subscription_id, missing = stream.subscription_id, set(stream.missing)
            stream_state = (
                history.subscriptions[subscription_id].stream_states.get(image)
                if subscription_id in history.subscriptions
                else None
            )
            if stream_state is None:
                self._report(
                    "fates",
                    history.name,
                    f"subscription {subscription_id} orders {publisher} in vain",
                )
                continue
            for forgotten in sorted(stream_state.missing - missing):
                self._report(
                    "fates",
                    history.name,
                    f"subscription {subscription_id} forgot {forgotten} of {publisher}",
                )
            stream_state.missing = missing
            for extended_seq in sorted(stream_state.missing):
                if extended_seq in image.received:
                    self._report(
                        "fates", history.name, f"{extended_seq} of {publisher} came, and is missing"
                    )
                # A record may reveal again a message that a repair showed to be irrelevant.
                fates = history.subscriptions[subscription_id].fates
                if (
                    extended_seq in image.irrelevant
                    and fates.get((image, extended_seq)) is MissingState.IRRELEVANT
                ):
                    del fates[image, extended_seq]
                if (image, extended_seq) in fates:
                    self._report(
                        "fates", history.name, f"{extended_seq} of {publisher} is missing again"
                    )

    def _check_reported(self, history: EndpointHistory, reported: Reported) -> None:
        stream_state = reported.subscription.stream_states.get(reported.image)
        if (
            stream_state is not None
            and reported.extended_seq not in stream_state.missing
            and (reported.image, reported.extended_seq) not in reported.subscription.fates
            and history.machine.counters["missing_overflow"] == reported.overflows
        ):
            number = reported.subscription.subscription_id
            what = f"subscription {number} does not miss {reported.extended_seq}"
            self._report(
                "fates", history.name, f"{what} of {reported.image.pub}, which it was told of"
            )

    def _inspect_endpoint(self, history: EndpointHistory) -> None:
        host = self._world.host(history.name)
        self._report_all(history.name, endpoint_bounds.violations(history))
        if history.send_queue is not None:
            congestion = history.machine.congestion
            queued = () if congestion is None else congestion.queued
            found = history.send_queue.inspect(
                [each.message for each in queued],
                now=self._world.now,
                clock_was_stepped=self._clock_was_stepped(history.name, 0),
            )
            self._report_all(history.name, found)
        for subscription in history.subscriptions.values():
            for row in subscription.pending.values():
                for arrival in row:
                    is_overdue = host.now > self._latest_ns(subscription, arrival)
                    if is_overdue and not self._clock_was_stepped(history.name, arrival.since):
                        self._report("patience", history.name, f"{arrival.frame.id} waits too long")
