"""What a fault must not leave behind."""

import os

BEFORE = set()  # children of other tests, a browser for example


def living():
    """Process ids of children that this thread started: living ones and zombies."""
    with open("/proc/thread-self/children") as file:
        return file.read().split()


def children():
    """Those that came since the test began."""
    return [child for child in living() if child not in BEFORE]


def remains(folder):
    """Temporary folders and locks under a cache."""
    return [
        os.path.join(where, name)
        for where, dirs, files in os.walk(str(folder))
        for name in dirs + files
        if name.startswith(("tmp-", ".new_")) or "lock" in name
    ]
