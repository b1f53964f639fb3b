"""What waits to leave a broker, one queue for each link."""
