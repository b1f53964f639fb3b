"""The receiving half of congestion control: measures, and asks publishers for a rate."""
