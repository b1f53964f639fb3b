"""The base class of every table of an experiment file, and the bounded types of its values."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

# Larger than anything that can be simulated; excludes infinity.
NUMBER_MAX: Final = 1e9
Positive: TypeAlias = Annotated[float, Meta(gt=0, le=NUMBER_MAX)]
NotNegative: TypeAlias = Annotated[float, Meta(ge=0, le=NUMBER_MAX)]
Chance: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
Count: TypeAlias = Annotated[int, Meta(ge=1, le=1_000_000)]
# The length of a record, in entries.
Entries: TypeAlias = Annotated[int, Meta(ge=0, le=255)]
# The upper bound is that of every ordering's latch.
LatchMs: TypeAlias = Annotated[float, Meta(ge=0, le=2_000)]
# Names become part of file paths.
Name: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9._+-]{0,39}$")]
Finite: TypeAlias = Annotated[float, Meta(ge=-1e300, le=1e300)]
# Pairs are lists of length 2: msgspec misreads a tuple that is part of a union.
PAIR_LENGTH: Final = Meta(min_length=2, max_length=2)


class Part(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A table of the file; unknown keys are an error."""
