"""The way in: duplicates, what is known of each publisher, and matching subscriptions."""
