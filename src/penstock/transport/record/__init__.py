"""Publication records as a receiver reads them: which past messages would have matched."""
