"""A small experiment that takes a moment, which tests vary."""

from __future__ import annotations

from pathlib import Path

from penstock.lab.experiment_files import ExperimentFile, find_experiment

TINY = """\
id = "T-1"
title = "a test"
source = "nowhere"
[run]
duration_s = 2
[network]
topology = { shape = "line", size = 3 }
link = { rate_mbps = 10, delay_ms = 5 }
[markets.all]
hot = 10
cold = 0
hot_share = 1
[clients.talker]
count = 1
publish = { market = "all", rate = { kind = "constant", rate = 10 } }
[clients.listeners]
count = 2
subscribe = { all = 0.5 }
[measure]
metrics = ["received"]
[profiles.quick]
[profiles.paper]
run.duration_s = 20
"""


def load(path: Path, text: str) -> ExperimentFile:
    file = path / "t.toml"
    file.write_text(text)
    return find_experiment(str(file))
