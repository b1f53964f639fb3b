"""What a checker sees of nodes, beside their frames: what they told their drivers."""

from __future__ import annotations

from penstock.bloomcast.facts import BlockDecodable, CastFact, SymbolsArrived, Verdict


class CastWatcher:
    """Override what is of interest."""

    def on_symbols(self, node: str, fact: SymbolsArrived) -> None:
        """A subscriber has symbols that it did not have."""

    def on_verdict(self, node: str, fact: BlockDecodable, verdict: Verdict) -> None:
        """The driver has tried to decode a block."""

    def on_fact(self, node: str, fact: CastFact) -> None:
        """Anything else that a node tells."""

    def on_restart(self, node: str) -> None:
        """A node has lost all but the blocks that were verified."""
