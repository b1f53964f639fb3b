"""What casts are measured against: other ways to recover, and what no way can do better."""
