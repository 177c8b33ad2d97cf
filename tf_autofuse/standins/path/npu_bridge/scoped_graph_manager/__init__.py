"""Life of graphs on the device."""
