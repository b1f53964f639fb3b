"""The receiving half of congestion control: measures and sends feedback to publishers."""
