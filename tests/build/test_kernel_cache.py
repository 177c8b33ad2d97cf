"""The kernel cache: identity, damage, privacy, bounds, many processes."""

import ctypes
import os
import stat
import subprocess
import sys
import threading

import pytest

from tf_autofuse import build, log, paths
from tf_autofuse.build import process
from tf_autofuse.build.cache import KernelCache, headers_digest
from tf_autofuse.errors import BuildError

GOOD = 'extern "C" __attribute__((visibility("default"))) int answer() { return %d; }\n'
BAD = "int f() { return missing_name; }\n"


def answer(path):
    return ctypes.CDLL(path).answer()


def write_library(text):
    """A stand-in for the compiler: the 'library' is a text file."""

    def make(source_path, library_path):
        with open(library_path, "w", encoding="utf-8") as handle:
            handle.write(text)

    return make


def test_builds_once_and_finds_again():
    before = len(build.compile_log())
    first = build.compile_host_kernel(GOOD % 41, key="k")
    again = build.compile_host_kernel(GOOD % 41, key="k")
    assert first == again and answer(first) == 41
    made, found = build.compile_log()[before:]
    assert (made.cached, found.cached) == (False, True)
    assert made.key == found.key and made.label == "k" and made.seconds > 0


def test_another_source_is_another_entry():
    one = build.compile_host_kernel(GOOD % 1, key="k")
    two = build.compile_host_kernel(GOOD % 2, key="k")
    assert one != two and (answer(one), answer(two)) == (1, 2)


def test_entry_layout_and_modes(own_cache):
    library = build.compile_host_kernel(GOOD % 3, key="k")
    entry = os.path.dirname(library)
    key = os.path.basename(entry)
    assert os.path.dirname(entry).endswith(os.path.join("kernels", key[:2]))
    assert sorted(os.listdir(entry)) == ["kernel.cc", "kernel.so", "meta.json"]
    with open(os.path.join(entry, "kernel.cc"), encoding="utf-8") as handle:
        assert handle.read() == GOOD % 3
    for folder in (entry, os.path.dirname(entry), os.path.dirname(os.path.dirname(entry))):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


@pytest.mark.parametrize("name", ["kernel.so", "meta.json"])
@pytest.mark.parametrize("damage", ["cut", "gone", "other"])
def test_damaged_entry_is_rebuilt(name, damage):
    library = build.compile_host_kernel(GOOD % 4, key="k")
    victim = os.path.join(os.path.dirname(library), name)
    if damage == "gone":
        os.remove(victim)
    else:
        with open(victim, "r+b") as handle:
            handle.truncate(10)
            if damage == "other":
                handle.write(b"something else")
    assert build.compile_host_kernel(GOOD % 4, key="k") == library
    assert not build.compile_log()[-1].cached
    assert answer(library) == 4


def test_changed_header_changes_the_digest(tmp_path):
    header = tmp_path / "a.h"
    header.write_text("// one\n")
    first = headers_digest((str(tmp_path),))
    header.write_text("// other\n")
    assert headers_digest((str(tmp_path),)) != first


def test_failed_build_keeps_source_and_output():
    with pytest.raises(BuildError, match="missing_name") as caught:
        build.compile_host_kernel(BAD, key="bad_kernel")
    assert caught.value.node == "bad_kernel"
    with open(caught.value.source, encoding="utf-8") as handle:
        assert handle.read() == BAD
    assert "missing_name" in caught.value.output


def test_many_each_with_its_own_outcome():
    done = build.compile_many([("a", GOOD % 5), ("b", BAD), ("c", GOOD % 6)])
    assert (answer(done["a"]), answer(done["c"])) == (5, 6)
    assert isinstance(done["b"], BuildError)
    assert build.compile_many([]) == {}


def test_missing_compiler_is_each_kernels_error(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler-here")
    done = build.compile_many([("a", GOOD % 7)])
    assert isinstance(done["a"], BuildError)


def test_eviction_takes_the_least_recently_used(tmp_path):
    cache = KernelCache(str(tmp_path / "c"), limit_bytes=2500, keep_seconds=0.0)
    for number in range(4):
        cache.insert("%02dkey" % number, "n", "source", write_library("x" * 1000))
        meta = os.path.join(cache.entry_dir("%02dkey" % number), "meta.json")
        os.utime(meta, (1000 + number, 1000 + number))
    assert cache.lookup("00key") is not None  # the oldest made, now the last used
    assert cache.evict() == 2
    assert [entry.key for entry in cache.entries()] == ["03key", "00key"]


def test_entries_in_use_are_not_evicted(tmp_path):
    cache = KernelCache(str(tmp_path / "c"), limit_bytes=10, keep_seconds=3600.0)
    cache.insert("aakey", "n", "source", write_library("x" * 1000))
    assert cache.evict() == 0 and cache.lookup("aakey") is not None
    assert cache.clear() == 1 and cache.lookup("aakey") is None


def test_second_publisher_keeps_the_first_entry(tmp_path):
    cache = KernelCache(str(tmp_path / "c"))
    first = cache.insert("aakey", "n", "source", write_library("same"))
    inode = os.stat(first).st_ino
    assert cache.insert("aakey", "n", "source", write_library("same")) == first
    assert os.stat(first).st_ino == inode
    assert [name for name in os.listdir(cache.root) if name.startswith("tmp-")] == []


def test_many_processes_at_once(own_cache):
    code = (
        "import ctypes; from tf_autofuse import build\n"
        "paths = [build.compile_host_kernel(%r %% n, key=str(n)) for n in range(3)]\n"
        "assert [ctypes.CDLL(p).answer() for p in paths] == [0, 1, 2]\n" % GOOD
    )
    root = os.path.dirname(paths.package_dir())
    env = dict(os.environ, PYTHONPATH=root)
    jobs = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(4)]
    assert [job.wait() for job in jobs] == [0] * 4
    cache = build.open_cache()
    assert len(cache.entries()) == 3
    assert [name for name in os.listdir(cache.root) if name.startswith("tmp-")] == []


def test_unusable_cache_folder_falls_back_with_one_warning(tmp_path, monkeypatch, caplog):
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(blocker))
    log.forget_warnings()
    with caplog.at_level("WARNING", logger="tf_autofuse"):
        one = build.compile_host_kernel(GOOD % 8, key="k")
        build.compile_host_kernel(GOOD % 9, key="k")
    assert answer(one) == 8
    assert stat.S_IMODE(os.stat(build.open_cache().root).st_mode) == 0o700
    assert len([r for r in caplog.records if "cannot be used" in r.getMessage()]) == 1


def test_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(PermissionError):
        KernelCache(str(tmp_path / "c"))


def test_what_takes_long_is_compiled_first(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    order, gate = [], threading.Event()
    monkeypatch.setattr(build, "compile_host_kernel", lambda source, key: order.append(key))
    builds = build.HostBuilds()
    builds._crew.start(gate.wait, weight=100)
    with builds:
        for key, source in (("a", "12"), ("b", "1234"), ("c", "123"), ("b", "1234")):
            builds.start(key, source)
        gate.set()
        assert builds.results([("a", "12"), ("d", "1")]) == {"a": None, "d": None}
    assert order == ["b", "c", "a", "d"]


def test_what_is_built_is_taken_at_once():
    library = build.compile_host_kernel(GOOD % 31, key="a")
    seen = []
    with build.HostBuilds(check=lambda path: seen.append((path, threading.get_ident()))) as builds:
        builds.start("a", GOOD % 31)
        assert seen == [(library, threading.get_ident())]
        assert builds.results([("a", GOOD % 31)]) == {"a": library}


def test_one_waits_for_another_without_holding_a_thread(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    order, gate = [], threading.Event()
    with process.Crew() as crew:
        first = crew.start(lambda: gate.wait() and order.append("first"))
        second = crew.start(order.append, "second", weight=9, after=first)
        crew.result(crew.start(order.append, "another"))
        assert order == ["another"] and not second.done()
        gate.set()
        crew.result(second)
        crew.result(crew.start(order.append, "third", after=second))
    assert order == ["another", "first", "second", "third"]


def test_those_behind_one_that_fails_run():
    with process.Crew() as crew:
        gate = threading.Event()
        first = crew.start(lambda: gate.wait() and 1 // 0)
        second = crew.start(int, "2", after=first)
        gate.set()
        assert crew.result(second) == 2
        assert isinstance(first.exception(), ZeroDivisionError)


def test_a_kernel_needs_nothing_that_another_library_of_the_process_has():
    text = 'extern "C" int of_nobody(); extern "C" int f() { return of_nobody(); }'
    with pytest.raises(BuildError) as caught:
        build.compile_host_kernel(text, key="undefined")
    assert "of_nobody" in caught.value.output
