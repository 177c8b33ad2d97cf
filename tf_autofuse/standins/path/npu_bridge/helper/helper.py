"""Facts about the adapter."""

version = "host"
