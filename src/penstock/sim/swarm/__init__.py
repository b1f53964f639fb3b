"""The swarm test: random networks, workloads and faults, under all checkers.

`python -m penstock.sim.swarm SEED` runs one seed; see docs/swarm.md.
"""

from penstock.sim.swarm.options import Options, draw_clean_options, draw_options
from penstock.sim.swarm.run import Report, SwarmFailed, run_swarm

__all__ = ["Options", "Report", "SwarmFailed", "draw_clean_options", "draw_options", "run_swarm"]
