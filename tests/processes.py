"""Watching processes that a test started, or that must have ended."""

import time


def is_running(pid):
    """Not a zombie: whoever inherits those may take its time."""
    try:
        with open("/proc/{}/cmdline".format(pid)) as file:
            return bool(file.read())
    except OSError:
        return False


def wait_for(condition, seconds=60):
    """Fails when the condition does not come true; the limit is for a busy machine."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
