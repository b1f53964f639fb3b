"""[F6] The factor by which a latch grows because its scale was estimated from few samples.

A share P of the messages exceeds a latch of Q·b if b is known exactly. An estimate from
n samples has an error, and consecutive samples share a message and are correlated; the
latch must be c(n, P) times as long for the share to stay at P. The table holds c for the
law of `delay_law`: delays of two exponential phases, differences of consecutive ones,
4·10⁵ rows of n samples each, solved for c. `tests/transport/order/test_latch.py` checks four
entries by simulation.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from math import log
from typing import Final

_SAMPLES: Final = (2, 3, 4, 5, 7, 10, 15, 25, 50, 100)
_PROBABILITIES: Final = (0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.003, 0.001, 0.0001, 0.00001)
_TABLE: Final = (
    (1.035, 1.114, 1.248, 1.518, 1.851, 2.430, 3.014, 4.474, 6.554, 15.237, 33.958),
    (1.025, 1.081, 1.173, 1.349, 1.549, 1.855, 2.129, 2.717, 3.424, 5.748, 10.310),
    (1.019, 1.062, 1.132, 1.263, 1.407, 1.617, 1.795, 2.150, 2.538, 3.608, 5.077),
    (1.015, 1.050, 1.106, 1.211, 1.324, 1.487, 1.620, 1.880, 2.152, 2.861, 3.810),
    (1.011, 1.036, 1.077, 1.151, 1.230, 1.339, 1.427, 1.591, 1.755, 2.156, 2.658),
    (1.007, 1.024, 1.053, 1.105, 1.158, 1.232, 1.289, 1.394, 1.496, 1.730, 1.995),
    (1.005, 1.016, 1.035, 1.070, 1.105, 1.152, 1.188, 1.253, 1.315, 1.453, 1.606),
    (1.003, 1.010, 1.022, 1.042, 1.063, 1.090, 1.111, 1.148, 1.182, 1.255, 1.331),
    (1.001, 1.005, 1.010, 1.020, 1.031, 1.044, 1.054, 1.071, 1.087, 1.121, 1.156),
    (1.001, 1.003, 1.005, 1.010, 1.015, 1.022, 1.027, 1.036, 1.043, 1.059, 1.075),
)
# Ascending, for the binary search.
_LOG_PROBABILITIES: Final = tuple(log(probability) for probability in reversed(_PROBABILITIES))


def small_sample_factor(samples: int, probability: float) -> float:
    """Return c(n, P); n below 2 counts as 2, and P outside the table as its nearest edge."""
    factors = _factors(samples)
    index, fraction = _bracket(
        min(
            max(log(max(probability, _PROBABILITIES[-1])), _LOG_PROBABILITIES[0]),
            _LOG_PROBABILITIES[-1],
        )
    )
    return factors[index] + (factors[index + 1] - factors[index]) * fraction


@lru_cache(maxsize=256)
def _factors(samples: int) -> tuple[float, ...]:
    """Return c for n samples by ascending log P, interpolated linearly in 1/n."""
    if samples <= _SAMPLES[0]:
        return _TABLE[0][::-1]
    if samples >= _SAMPLES[-1]:
        # Beyond the table, the excess over 1 is proportional to 1/n.
        shrunk = _SAMPLES[-1] / samples
        return tuple(1 + (c - 1) * shrunk for c in _TABLE[-1][::-1])
    above = bisect_left(_SAMPLES, samples)
    samples_below, samples_above = _SAMPLES[above - 1], _SAMPLES[above]
    fraction = (1 / samples_below - 1 / samples) / (1 / samples_below - 1 / samples_above)
    pairs = zip(_TABLE[above - 1][::-1], _TABLE[above][::-1], strict=True)
    return tuple(low + (high - low) * fraction for low, high in pairs)


def _bracket(log_p: float) -> tuple[int, float]:
    index = min(max(bisect_left(_LOG_PROBABILITIES, log_p) - 1, 0), len(_LOG_PROBABILITIES) - 2)
    low, high = _LOG_PROBABILITIES[index], _LOG_PROBABILITIES[index + 1]
    return index, (log_p - low) / (high - low)
