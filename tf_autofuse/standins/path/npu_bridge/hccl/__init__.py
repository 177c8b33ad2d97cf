"""Host stand-in of the collective operators: one process, one rank."""
