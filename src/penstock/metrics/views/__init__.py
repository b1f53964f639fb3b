"""Views: work on tables that several metrics share, done once for all of them."""
