"""What every table of an experiment's file is, and the numbers that may stand in it."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

# Far beyond what can be simulated, and no infinity.
NUMBER_MAX: Final = 1e9
Positive: TypeAlias = Annotated[float, Meta(gt=0, le=NUMBER_MAX)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=NUMBER_MAX)]
Chance: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
# Of a record; and of a latch, which no ordering lets be longer.
Entries: TypeAlias = Annotated[int, Meta(ge=0, le=255)]
LatchMs: TypeAlias = Annotated[float, Meta(ge=0, le=2_000)]
# What becomes part of a path.
Name: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9._+-]{0,39}$")]
# msgspec misreads a tuple that is one of several possibilities.
Finite: TypeAlias = Annotated[float, Meta(ge=-1e300, le=1e300)]
PAIR_LENGTH: Final = Meta(min_length=2, max_length=2)


class Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table of the file; keys that it does not have are refused."""
