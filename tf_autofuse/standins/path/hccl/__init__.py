"""Host stand-in of the collective communication package."""
