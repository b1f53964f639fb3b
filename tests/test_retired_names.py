"""Names that were given up for plain ones do not come back.

Each name below stood for something that has a better name now. Names that users see are not
among them: those change together with the interface.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "penstock"

RETIRED = {
    "facts, endpoint, subscriptions": (
        "Receipt Departed Wish Arrivals Reception Plain make_known has_come take_repair _pass_by "
        "_put_out _tell_loss _tell_listeners LossListener heard_ns known_from _wishes _numbered"
    ),
    "record, order, publish": (
        "Glimpse Opened Question question_of Lookup Sieve SetQuestion Carrier Listing Gaps Held "
        "Missing GivenUp Patience Conditional _look_back _look_further_back _take_up _let_go "
        "_uncovered _move_up _is_over is_assumed lose_at forget_at on_retracted _suspects _BELIEVED"
    ),
    "detect, recovery": (
        "Exchange Claim DigestMaker Shared Whom Listening Watched Pending Room Flows Tracking "
        "Holes Hole Lost ranges_of on_untold Wanted Source Answer Adaptive Asking Distances "
        "Routing Demand names_in alone_first told_last Asked Answered Told Budget may_ask "
        "may_repair _POSTPONED"
    ),
    "congestion, tfrc": (
        "Outbox Listener Gate Rounds Reporter Acker Losses Intervals Rtt Meter PeerRepairs "
        "FewFlows Few Bucket reckon wanting _liken believed_ns r_max_ns R_FIRST_NS literal_count "
        "BIAS is_said said_mps told_round"
    ),
    "overlay, live, wire": (
        "Announcer Adverts Assembly Wants Forgotten Frontier Greeter Knowledge Clients LiveBroker "
        "Answers Backlog USUAL lets_in wanted_by _say_all _say_new Parcel Track Tracked Recall "
        "mark_parcel wants_digest is_asked_for EVERY_MESSAGE CONTROLLED_FROM Draft ALIKE MAP_AT"
    ),
}
# Elsewhere some of these are the field's own words: an index has buckets.
ROOMS = ("transport", "tfrc", "overlay", "live", "wire")


@pytest.mark.parametrize("area", RETIRED)
def test_no_retired_name_stands_for_the_old_thing(area: str) -> None:
    names = "|".join(re.escape(name) for name in RETIRED[area].split())
    defined = re.compile(
        rf"^\s*(?:(?:async )?def|class) ({names})\b|^\s*(?:self\.)?({names})\b(?:: [^=]+)? = ",
        re.MULTILINE,
    )
    found = [
        f"{path.relative_to(PACKAGE)}: {match[1] or match[2]}"
        for room in ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        # Guaranteed streams came later, and have words of their own.
        if not {"guaranteed", "log"} & {*path.parts}
        for match in defined.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
