"""Reading publication records: which earlier messages match a subscription."""
