"""Statistical laws of delays and their fit to what a run measured."""
