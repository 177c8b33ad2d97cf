"""Life of graphs on the device."""


class ScopedGraphManager:
    """Would free the device's graphs at the end of the block; the host frees its own."""

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        self.stop()

    def start(self):
        """Begin to keep count of graphs."""

    def stop(self):
        """Free what was counted."""
