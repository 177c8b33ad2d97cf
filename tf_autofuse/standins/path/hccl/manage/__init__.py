"""Host stand-in of the rank management."""
