"""One endpoint run twice: frames handed over as they are, and through the codec."""

from __future__ import annotations

from dataclasses import replace

from penstock.sim.swarm.endpoint_options import EndpointOptions
from penstock.sim.swarm.endpoints import EndpointReport, run_endpoints


def without_and_with_codec(drawn: EndpointOptions) -> tuple[EndpointReport, EndpointReport]:
    # The effect of a flipped bit depends on the encoding; without a codec there is none.
    kinds = tuple(kind for kind in drawn.network.fault_kinds if kind != "corruption")
    plain, coded = (
        run_endpoints(
            drawn.seed,
            options=replace(
                drawn,
                network=replace(drawn.network, codec=codec, fault_kinds=kinds or ("crash",)),
            ),
        )
        for codec in (False, True)
    )
    return plain, coded
