"""Messages and filters: matching, covering, text forms and Bloom encoding."""
