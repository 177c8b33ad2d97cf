"""Host stand-in of the adapter's configuration, hooks and optimizers."""
