"""Every test here works in a cache of its own, with compilers that misbehave on demand."""

import os
import signal
import stat
import sys

import pytest

from tf_autofuse import build, flags, log

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import remains


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    for name in ("CXX", "AUTOFUSE_FLAGS", "AUTOFUSE_DFX_FLAGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "cache"))
    flags.set_overrides(None)
    build.forget_failures()
    log.forget_warnings()
    remains.BEFORE.update(remains.living())
    yield tmp_path / "cache"
    flags.set_overrides(None)


@pytest.fixture()
def interrupts():
    """SIGINT raises KeyboardInterrupt, also where a shell started this in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture()
def fake_compiler(tmp_path, monkeypatch):
    """fake_compiler(shell text): make CXX a script; `$out` is the output file it is asked for."""
    number = iter(range(1000))

    def make(text):
        path = tmp_path / "cxx{}.sh".format(next(number))
        path.write_text(
            "#!/bin/sh\n"
            'case "$*" in *-dM*) echo \'#define __VERSION__ "fake"\'; exit 0;; esac\n'
            'for word; do [ "$before" = -o ] && out="$word"; before="$word"; done\n' + text + "\n"
        )
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("CXX", str(path))
        return str(path)

    return make
