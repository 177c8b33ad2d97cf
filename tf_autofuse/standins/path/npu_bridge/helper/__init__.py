"""Facts about the adapter."""
