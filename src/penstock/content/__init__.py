"""Messages, interests, and how they are matched, compared and summarised."""
