"""Families of figures: each module returns the figures that the report data allows, if any."""
