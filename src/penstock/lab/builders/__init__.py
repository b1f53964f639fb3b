"""Build the simulated world that an experiment file describes."""
