"""The recovery of one endpoint: what it lost is asked for, what others lost is given.

    lost        `Requester` asks, and asks again
    asked       `Repairer` answers from `Caches`
    repaired    the endpoint takes the message as if it had come late

Who speaks is known by the number that it publishes under.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from penstock.content.filter import Predicate
from penstock.content.message import Message
from penstock.kernel.instant import SECOND, Instant, earliest
from penstock.transport.detect.flow_gaps import Holes
from penstock.transport.detect.flow_numbers import Sent
from penstock.transport.detect.loss_detection import Exchange, Signal
from penstock.transport.detect.tracking import Tracking
from penstock.transport.facts import Loss
from penstock.transport.inbox import UnicastInbox
from penstock.transport.network import Carried, Network
from penstock.transport.record.entry_match import compile_entry_test
from penstock.transport.recovery.admission import Admission, Budget, Unlimited
from penstock.transport.recovery.cache import Caches
from penstock.transport.recovery.facts import Answered, Asked, Identity, Receiver, Told
from penstock.transport.recovery.peer_distance import Distances
from penstock.transport.recovery.repairer import Repairer
from penstock.transport.recovery.request_routing import Routing
from penstock.transport.recovery.requester import Requester
from penstock.transport.recovery.settings import RecoverySettings
from penstock.wire import size_of
from penstock.wire.frames.base import TrafficClass, TransportFrame
from penstock.wire.frames.data import Data, Flow, MessageId
from penstock.wire.frames.range_request import Recall
from penstock.wire.frames.repair import Repair
from penstock.wire.frames.request import Request
from penstock.wire.quantise import delta_100us, delta_ns

_ADAPT_NS: Final = SECOND
# Distances that a loss which numbers of a flow tell of is left to these.
_HOLES_FIRST: Final = 6
_COUNTED: Final = (
    "asked",
    "answered",
    "repaired",
    "repair_forged",
    "repair_unmatched",
    "repair_unwanted",
    "unaddressable",
)


class Recovery:
    """Asks and answers for one endpoint."""

    def __init__(
        self,
        identity: Identity,
        settings: RecoverySettings,
        network: Network[Carried],
        receiver: Receiver,
        address: UnicastInbox[Carried],
        *,
        numbers: Iterator[int],
        draw: Callable[[], float],
        counters: dict[str, int],
        admission: Admission | None = None,
    ) -> None:
        self._identity: Final = identity
        self._routing: Final = Routing(identity.encoder, settings)
        self._settings: Final = settings
        self._network: Final = network
        self._receiver: Final = receiver
        self._address: Final = address
        self._numbers: Final = numbers
        self._counters: Final = counters
        self._admission: Final = admission or Unlimited()
        # What came here, and what was published here.
        self.caches: Final = Caches(settings.cache)
        self.own_cache: Final = Caches(settings.own_cache)
        self._distances: Final = Distances(settings.distance_ns)
        # Of digests, and of what is said to get them.
        self._budget: Final = Budget(settings.repairs_mps)
        self._requester: Final = Requester(
            identity.me,
            settings,
            self._distances,
            bloom_bytes=identity.encoder.params.m + 7 >> 3,
            draw=draw,
            send=self._send_request,
            give_up=self._on_given_up,
        )
        self._holes: Final = Holes(
            identity.me,
            self._distances,
            give_up_ns=settings.give_up_ns,
            draw=draw,
            send=self._send_other,
            loss_wait_ns=receiver.loss_wait_ns,
            give_up=receiver.give_up_unseen,
        )
        self._tracking: Final = (
            None
            if settings.tracks is False
            else Tracking(
                identity.me,
                self._holes,
                draw=draw,
                send=self._send_other,
                wants=self._wants_numbers,
            )
        )
        self._exchange: Final = Exchange(
            identity.me,
            identity.epoch,
            identity.encoder,
            network,
            self._distances,
            asks=settings.digests,
            tracking=self._tracking,
            tracked_max=settings.tracked_max if settings.publisher_answers else 0,
            numbers=numbers,
            draw=draw,
            send=self._send_other,
            reveal=receiver.take_digest,
            answer=self._on_recalled,
            kept=self._kept,
            on_sharers=self._requester.on_sharers,
        )
        self._repairer: Final = Repairer(
            identity.me,
            settings,
            self._caches_of,
            self._distances,
            draw=draw,
            send=self._send_repair,
        )
        # By the number of a wish, that of the subscription to requests for it.
        self._volunteered: Final[dict[int, int]] = {}
        self._publishes = False
        self._adapt_at: Instant | None = None
        for name in _COUNTED:
            counters.setdefault(name, 0)

    # What the endpoint does.

    def subscribed(self, wish: int, predicate: Predicate, now: Instant) -> None:
        """Offers to answer for what a subscription gets."""
        self._address.open(now)
        self._exchange.subscribed(wish, predicate, now)
        if self._settings.volunteers:
            number = self._volunteered[wish] = next(self._numbers)
            self._network.subscribe(
                number, self._routing.offer(predicate), traffic=TrafficClass.REQUEST, now=now
            )

    def unsubscribed(self, wish: int, now: Instant) -> None:
        """Takes the offer back; what is kept still serves those who ask for the rest."""
        self._exchange.unsubscribed(wish, now)
        number = self._volunteered.pop(wish, None)
        if number is not None:
            self._network.unsubscribe(number, now=now)

    def flows_of(self, message: Message) -> tuple[Flow, ...]:
        """The tracked flows that a message is about to get numbers in."""
        return self._exchange.flows.match(message)

    def published(self, frame: Data, now: Instant) -> None:
        """Keeps what left here."""
        if not self._settings.publisher_answers:
            return
        if not self._publishes:
            self._publishes = True
            self._address.open(now)
            own = self._routing.own_offer(self._identity.me)
            number = next(self._numbers)
            self._network.subscribe(number, own, traffic=TrafficClass.REQUEST, now=now)
        self._keep(frame, now)
        self._exchange.published(frame, now)

    def came(self, frame: Data, *, is_wanted: bool, is_kept: bool = False, now: Instant) -> None:
        """An original, for the first time: for somebody here, or only to be kept for others."""
        if len(self._requester):
            self._requester.on_came(frame.id, now)
        if is_wanted:
            self._exchange.came(frame, now)
        if (is_wanted or is_kept) and self._settings.volunteers:
            self._keep(frame, now)

    def on_loss(self, loss: Loss, *, now: Instant) -> None:
        """A number is lost, or it came after all and never was."""
        id_ = loss.id
        if loss.is_retracted:
            self._requester.on_came(id_, now)
            return
        self._distances.hint(id_.pub, loss.due_ns - loss.departed_ns)
        bits = self._routing.bits_of(loss)
        if bits is None:
            self._counters["unaddressable"] += 1
            self._on_given_up(id_, now)
            return
        later_ns = 0
        if self._tracking is not None and self._tracking.is_tracked(id_.pub):
            # Its numbers tell of this loss, too, or nearly always do; who asks then is enough.
            later_ns = _HOLES_FIRST * self._distances.of(id_.pub)
        self._requester.want(id_, bits, loss.due_ns, now, later_ns=later_ns)

    def on_untold(self, pub: int, epoch: int, first: int, messages: int, now: Instant) -> None:
        """So many messages did not come here, from `first` on, of which no record told."""
        self._exchange.on_untold(pub, epoch, first, messages, now)

    def forget(self, id_: MessageId) -> None:
        """Nobody here waits for it any more."""
        self._requester.forget(id_)

    def take(self, frame: TransportFrame, now: Instant) -> bool:
        """What the network brings; False if it is not for recovery."""
        if type(frame) is Request:
            self._on_request(frame, now)
        elif type(frame) is Repair:
            self._on_repair(frame, now)
        else:
            return self._exchange.take(frame, now)
        return True

    def wake(self, *, now: Instant) -> None:
        """Runs everything that is due."""
        for id_ in self._requester.timers.due(now):
            self._requester.ring(id_, now)
        for id_ in self._repairer.timers.due(now):
            self._repairer.ring(id_, now)
        self._exchange.wake(now)
        self._holes.wake(now)
        if self._adapt_at is not None and now >= self._adapt_at:
            self.caches.adapt(now=now)
            self.own_cache.adapt(now=now)
            self._adapt_at = now + _ADAPT_NS

    def next_wakeup(self) -> Instant | None:
        """When `wake` must next be called."""
        return earliest(
            self._requester.timers.next_wakeup(),
            self._repairer.timers.next_wakeup(),
            self._exchange.next_wakeup(),
            self._holes.next_wakeup(),
            self._adapt_at,
        )

    def _wants_numbers(self, predicate: Predicate) -> bool:
        """Whether losses of what it matches are to be told by numbers."""
        if self._settings.tracks:
            return True
        questions = (compile_entry_test(own, self._identity.encoder) for own in predicate.filters)
        return any(question is not None and not question.is_certain for question in questions)

    # What comes in.

    def _on_request(self, request: Request, now: Instant) -> None:
        if request.requester == self._identity.me:
            return
        self._distances.heard(request.requester)
        self._requester.on_request(request, now)
        if request.pub == self._identity.me:
            is_ours = request.epoch == self._identity.epoch
        else:
            # What is held came, also if that was too long ago to be remembered otherwise.
            is_ours = self._receiver.has_come(request.id) or bool(self.caches.peek(request.id))
        if is_ours:
            self._repairer.on_request(request, now)

    def _on_repair(self, repair: Repair, now: Instant) -> None:
        me, original = self._identity.me, repair.original
        if repair.repairer == me or repair.to not in (None, me):
            return
        bits = self._requester.bits_of(original.id)
        if bits is not None and not self._routing.is_of(bits, original):
            # Of another message: what was lost is still to be had.
            self._counters["repair_forged"] += 1
            return
        if repair.requester == me:
            hold_ns = delta_ns(repair.hold_100us)
            self._distances.on_echo(repair.repairer, repair.echo_ts_us, hold_ns, now=now)
            self._requester.on_repair(original.pub, repair.repairer)
        self._repairer.on_repair(repair, now)
        is_asked = self._holes.has(original.pub, original.epoch, original.flows)
        is_taken = self._receiver.take_repair(original, now, is_asked=is_asked)
        if is_asked or is_taken:
            # Else it is not here: its numbers must still be missed.
            self._holes.came(original.pub, original.epoch, original.flows, now)
        if is_taken:
            self._counters["repaired"] += 1
            self._requester.on_came(original.id, now)
            if self._settings.volunteers:
                self._keep(original, now)

    def _on_recalled(self, recall: Recall, sent: Sent, now: Instant) -> None:
        """Somebody lost this message of ours, and could only name its number in a flow."""
        request = Request(
            pub=recall.pub,
            epoch=recall.epoch,
            seq=sent.seq,
            requester=recall.requester,
            send_ts_us=recall.send_ts_us,
            age_100us=delta_100us(now - sent.departed_ns),
            delay_100us=0,
            round=0,
            is_unicast=False,
            bloom=0,
            bloom_bytes=1,
            first=self._identity.me,
        )
        self._repairer.on_request(request, now)

    def _kept(self, seq: int) -> Data | None:
        return self.own_cache.peek(MessageId(self._identity.me, self._identity.epoch, seq))

    def _caches_of(self, pub: int) -> Caches:
        return self.own_cache if pub == self._identity.me else self.caches

    def _keep(self, frame: Data, now: Instant) -> None:
        self._caches_of(frame.pub).put(frame, now=now)
        if self._adapt_at is None:
            self._adapt_at = now + _ADAPT_NS

    # What goes out.

    def _send_request(self, request: Request, now: Instant) -> bool:
        if not self._admission.may_ask(request.pub, size_of(request), now=now):
            return False
        self._network.publish(request, traffic=TrafficClass.REQUEST, now=now)
        self._counters["asked"] += 1
        self._receiver.tell(Asked(request))
        return True

    def _send_repair(self, repair: Repair, now: Instant) -> bool:
        original = repair.original
        # As it is kept it still says in which flows it was.
        kept = self._caches_of(original.pub).peek(original.id) or original
        if not self._admission.may_repair(kept, now=now):
            return False
        self._network.publish(repair, now=now)
        self._counters["answered"] += 1
        self._receiver.tell(Answered(repair))
        return True

    def _send_other(self, frame: Signal, now: Instant) -> bool:
        if not self._budget.take(now):
            return False
        if type(frame) is Recall and not self._admission.may_ask(
            frame.pub, size_of(frame), now=now
        ):
            return False
        self._network.publish(frame, now=now)
        self._receiver.tell(Told(frame))
        return True

    def _on_given_up(self, id_: MessageId, now: Instant) -> None:
        self._receiver.give_up(id_, now)
