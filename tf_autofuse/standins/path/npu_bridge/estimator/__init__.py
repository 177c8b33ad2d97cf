"""Host stand-in of the adapter's operator and training helpers."""
