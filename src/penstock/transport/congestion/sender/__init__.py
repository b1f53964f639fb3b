"""The sending half of congestion control: queues messages until their flows allow them."""
