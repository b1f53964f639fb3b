"""The laws that compute a rate or a window from what was measured."""
