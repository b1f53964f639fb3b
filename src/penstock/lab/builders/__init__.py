"""Builds what an experiment file describes."""
