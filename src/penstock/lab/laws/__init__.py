"""The laws that delays should follow, and the tests that say whether they do."""
