"""What a network holds and has carried, looked at again and again, for the trace."""
