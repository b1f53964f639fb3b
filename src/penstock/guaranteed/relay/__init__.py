"""A relay takes a pubend from its parent and passes on what each child wants, and repairs."""
