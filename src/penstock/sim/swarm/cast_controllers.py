"""Who controls a swarm of casts: one node, or two with scopes or roles of their own."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

from penstock.wire.frames.cast.topology import CONTROLLER, CastRole

# Of the item that is cast, and of others.
ITEM_SCOPE: Final = 1
_OTHER_SCOPE: Final = 3


class Post(NamedTuple):
    """What a controller is responsible for."""

    roles: CastRole = CONTROLLER
    scopes: tuple[int, ...] = ()


class Controllers(Enum):
    """The first routers of a world are controllers."""

    ONE = auto()
    # The second names the scope of the item.
    OF_SCOPE = auto()
    # The second names another one.
    OF_OTHER_SCOPE = auto()
    # Both are responsible for the same, and the first stays.
    SAME = auto()
    SAME_SCOPE = auto()
    # The first is the rendezvous point, the second the topology manager.
    SPLIT = auto()

    @property
    def posts(self) -> tuple[Post, ...]:
        """Of the first routers."""
        return _POSTS[self]

    @property
    def planner(self) -> int:
        """Which of them plans."""
        return int(self in (Controllers.OF_SCOPE, Controllers.SPLIT))

    @property
    def is_contested(self) -> bool:
        """Whether one of them is to step down."""
        return self in (Controllers.SAME, Controllers.SAME_SCOPE)


_POSTS: Final = {
    Controllers.ONE: (Post(),),
    Controllers.OF_SCOPE: (Post(), Post(scopes=(ITEM_SCOPE,))),
    Controllers.OF_OTHER_SCOPE: (Post(), Post(scopes=(_OTHER_SCOPE,))),
    Controllers.SAME: (Post(), Post()),
    Controllers.SAME_SCOPE: (Post(scopes=(ITEM_SCOPE,)), Post(scopes=(ITEM_SCOPE,))),
    Controllers.SPLIT: (Post(CastRole.RENDEZVOUS), Post(CastRole.TOPOLOGY)),
}
