"""How probable it is that a loss is noticed, from how often messages match and the record's size.

A lost message is described by the records of the next R messages of its
publisher. Whoever wanted it notices when one of them arrives: one that matches,
since no other is sent there, and is not lost itself. Knows nothing of latches, nor
of how long it takes until the loss is declared.
"""

from __future__ import annotations

from math import comb

from penstock.kernel.errors import UsageError


def detected(record: int, match: float, loss: float) -> float:
    """Equation 4.1: 1 − (1 − P + P·p)^R, for one receiver."""
    return detected_by_any(record, match, loss, others=0)


def detected_by_any(
    record: int, match: float, loss: float, *, others: int, overlap: float = 0.5
) -> float:
    """Of a message that one node wanted and all lost: whether any that wanted it notices.

    `others` nodes match as many messages as the first one does, and each of them any
    message that the first one matches with probability `overlap`, the lost one too.
    Once it is known whether the first one matches, the others do so independently,
    and the copies of a message are lost independently.

    1. j of the others wanted the lost message, which is binomial.
    2. Nobody receives the next message if the first matches, loses it, and the j get
       nothing of what they share with it; or if the first does not match, and the j get
       nothing of what they match besides.
    3. That must happen R times in a row.
    """
    for chance in (match, loss, overlap):
        if not 0 <= chance <= 1:
            raise UsageError(f"a probability lies between 0 and 1, not {chance}")
    if record < 0 or others < 0:
        raise UsageError("a record has 0 or more entries, and a node 0 or more others")
    if others and match * (2 - overlap) > 1:
        raise UsageError(
            f"nodes that match {match:g} of all messages share more than {overlap:g} of them"
        )
    # What one of the others matches where the first does not.
    besides = match * (1 - overlap) / (1 - match) if match < 1 else 0.0
    chance = 0.0
    for sharing in range(others + 1):
        weight = comb(others, sharing) * overlap**sharing * (1 - overlap) ** (others - sharing)
        nobody_of_match = match * loss * (1 - overlap * (1 - loss)) ** sharing
        nobody_of_other = (1 - match) * (1 - besides * (1 - loss)) ** sharing
        chance += weight * (1 - (nobody_of_match + nobody_of_other) ** record)
    return chance
