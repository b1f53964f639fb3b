"""What controllers claim to be responsible for, and which of them a node turns to.

All nodes turn to the same one: the rendezvous point that names a scope, else one that names none,
and of several the one with the lowest id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from penstock.wire.frames.cast.topology import CONTROLLER, CastRole


class Claim(NamedTuple):
    """Of one controller."""

    node: int
    roles: CastRole
    # None: all scopes that nobody else names.
    scopes: tuple[int, ...] = ()

    def covers(self, scope: int) -> bool:
        """Whether it may be the rendezvous point of a scope."""
        if not self.roles & CastRole.RENDEZVOUS:
            return False
        return not self.scopes or scope in self.scopes

    @property
    def is_void(self) -> bool:
        """Whether nothing is left of it."""
        return not self.roles & CONTROLLER


def rendezvous_point(claims: Iterable[Claim], scope: int) -> int | None:
    """The node that is responsible for a scope."""
    found = [(not claim.scopes, claim.node) for claim in claims if claim.covers(scope)]
    return min(found)[1] if found else None


def topology_managers(claims: Iterable[Claim]) -> list[int]:
    """All that take LINK_STATE, ascending."""
    return sorted(claim.node for claim in claims if claim.roles & CastRole.TOPOLOGY)


def what_is_left(own: Claim, other: Claim) -> Claim:
    """A claim without what a controller with a lower id claims as well."""
    if other.node >= own.node:
        return own
    roles, scopes = own.roles, own.scopes
    if roles & other.roles & CastRole.RENDEZVOUS:
        if scopes and other.scopes:
            scopes = tuple(scope for scope in scopes if scope not in other.scopes)
        if not scopes and bool(own.scopes) is bool(other.scopes):
            roles &= ~CastRole.RENDEZVOUS
    # A rendezvous point needs its map; a map alone is of use once in a domain.
    if not roles & CastRole.RENDEZVOUS and other.roles & CastRole.TOPOLOGY:
        roles &= ~CastRole.TOPOLOGY
    return Claim(own.node, roles, scopes)
