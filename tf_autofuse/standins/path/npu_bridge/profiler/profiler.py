"""Profiling of a part of a script. ``tf-autofuse profile`` measures the kernels of the host."""


class Profiler:
    """Would start and stop the device's profiler; checks its settings as that does."""

    def __init__(self, level="L0", aic_metrics="", output_path=""):
        settings = {"level": level, "aic_metrics": aic_metrics, "output_path": output_path}
        for name, value in settings.items():
            if not isinstance(value, str):
                raise ValueError("{} must be a string, got {!r}".format(name, value))
        self.settings = settings

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        self.stop()

    def start(self):
        """Would start the device's profiler."""

    def stop(self):
        """Would stop it."""
