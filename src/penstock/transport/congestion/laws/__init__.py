"""The laws that compute a rate or a window from measurements."""
