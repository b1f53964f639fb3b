"""Laws that delays and losses should follow, tests of fit, and the metrics that apply them."""
