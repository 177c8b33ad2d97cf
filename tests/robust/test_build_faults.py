"""Compilers, disks and processes that fail while a kernel is built: one clear error, no remains."""

import ctypes
import os
import signal
import subprocess
import sys
import threading

import pytest
from processes import is_running, wait_for
from remains import children, remains

from tf_autofuse import build, flags, paths
from tf_autofuse.build import cache as cache_module
from tf_autofuse.build import process
from tf_autofuse.build.process import run_tool
from tf_autofuse.errors import BuildError, BuildTimeout

GOOD = 'extern "C" __attribute__((visibility("default"))) int answer() { return %d; }\n'
ROOT = os.path.dirname(paths.package_dir())


def refused(number=1):
    with pytest.raises(BuildError) as caught:
        build.compile_host_kernel(GOOD % number, key="k")
    assert children() == []
    return caught.value


COMPILERS = {
    "crash": ("kill -SEGV $$", "ended by signal 11"),
    "killed": ("kill -KILL $$", "ended by signal 9"),
    "error": ("echo 'x.cc:1: error: no such thing'; exit 1", "no such thing"),
    "silent": ("exit 3", "exit code 3"),
    "nothing": ("exit 0", "no compiler message, exit code 0"),
    "garbage": ("echo garbage >$out; exit 0", "wrote no library: it is no 64-bit ELF file"),
    "cut": ("head -c 3000 /proc/self/exe >$out", "wrote no library: it is cut short"),
    "bytes": ("printf 'error: \\377\\000\\200'; exit 1", "error: "),
    "orphan": ("sleep 60 & exit 1", "exit code 1"),
}


@pytest.mark.parametrize("kind", list(COMPILERS))
def test_a_failing_compiler_is_one_clear_error(kind, fake_compiler, own_cache):
    script, words = COMPILERS[kind]
    command = fake_compiler(script)
    error = refused()
    assert words in str(error) and error.node == "k"
    assert remains(own_cache) == [] and build.open_cache().lookup("k") is None
    # The same kernel is not tried again: a compiler that now works is not even asked.
    with open(command, "w") as file:
        file.write("#!/bin/sh\ntouch {}\n".format(own_cache / "asked"))
    assert words in str(refused()) and not (own_cache / "asked").exists()


def test_a_hanging_compiler_ends_with_its_children(fake_compiler, tmp_path):
    note = tmp_path / "pids"
    fake_compiler("sleep 600 & echo $! >>{}; sleep 600".format(note))
    flags.set_overrides("--build_seconds=1")
    done = build.compile_many([(str(n), GOOD % n) for n in range(8)])
    assert all(isinstance(error, BuildTimeout) for error in done.values())
    assert "did not end within 1 s" in str(done["7"])
    pids = note.read_text().split()
    wait_for(lambda: not any(map(is_running, pids)))
    # Two time-outs in a row and it is given up, so that eight kernels do not cost eight limits.
    assert len(pids) < 8 and children() == []


def test_endless_output_costs_no_memory(tmp_path):
    text, code = run_tool(["sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' 'x'; exit 1"], 60)
    assert code == 1 and len(text) == 64 * 1024
    with pytest.raises(BuildTimeout):
        run_tool(["yes"], 0.5)
    assert children() == []


def test_memory_limit(fake_compiler):
    fake_compiler(
        "{} -c 'x = bytearray(3 << 30)' || {{ echo error: out of memory; exit 1; }}".format(
            sys.executable
        )
    )
    flags.set_overrides("--build_memory_mb=300")
    assert "out of memory" in str(refused())


@pytest.mark.parametrize("program", [process._PRLIMIT, "/nonexistent/prlimit"])
def test_a_process_under_limits_of_its_own(program):
    """As in the queue of a cluster: a limit cannot be raised, so the own one is kept."""
    code = (
        "import resource; resource.setrlimit(resource.RLIMIT_CPU, (40, 40))\n"
        "from tf_autofuse.build import process\n"
        "process._PRLIMIT = %r\n"
        "print(process.run_tool(['sh', '-c', 'sleep 0.2; ulimit -t'], 500)[0])" % program
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=60)
    assert done.stdout.split() == [b"40"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_tools_end_with_the_process(number, tmp_path):
    """Also one that hangs and would never reach its limit of processor time."""
    mark = "%d.%d" % (300 + number, os.getpid())  # sleeps for as long as nobody else
    code = (
        "from tf_autofuse.build.process import run_tool\n"
        "run_tool(['sh', '-c', 'sleep %s & sleep %s'], 500)" % (mark, mark)
    )
    process = subprocess.Popen([sys.executable, "-c", code])

    def asleep():
        found = 0
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % name) as file:
                    found += file.read() == "sleep\0%s\0" % mark
            except OSError:
                continue
        return found

    wait_for(lambda: asleep() == 2)
    process.send_signal(number)
    process.wait()
    wait_for(lambda: asleep() == 0)


def test_limits_without_the_program_that_sets_them(monkeypatch):
    monkeypatch.setattr(process, "_PRLIMIT", "/nonexistent/prlimit")
    text, code = run_tool(["sh", "-c", "sleep 0.2; ulimit -v; ulimit -t"], 50, memory_mb=300)
    assert code == 0 and text.split() == ["307200", "51"]


def test_disk_full_while_the_entry_is_written(fake_compiler, own_cache, monkeypatch):
    real_open = open

    def full(path, *args, **kwargs):
        if str(path).startswith(str(own_cache)) and args[:1] == ("w",):
            return real_open("/dev/full", *args, **kwargs)
        return real_open(path, *args, **kwargs)

    monkeypatch.setattr(cache_module, "open", full, raising=False)
    error = refused()
    assert "cannot store the kernel" in str(error) and "No space left" in str(error)
    assert remains(own_cache) == [] and build.open_cache().entries() == []


def test_disk_full_for_the_compiler(fake_compiler, own_cache):
    fake_compiler("echo text >/dev/full || { echo 'fatal error: disk'; exit 1; }")
    assert "fatal error: disk" in str(refused())
    assert remains(own_cache) == []


@pytest.mark.parametrize("home", ["", "/nonexistent/home", "/proc"])
def test_no_home(home, monkeypatch, tmp_path, caplog):
    monkeypatch.delenv("AUTOFUSE_CACHE_DIR")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", home)
    if not home:
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # no such user either
    if home == "/nonexistent/home":
        real = os.makedirs
        monkeypatch.setattr(os, "makedirs", lambda path, *a, **k: real(_read_only(path), *a, **k))
    with caplog.at_level("WARNING", logger="tf_autofuse"):
        library = build.compile_host_kernel(GOOD % 7, key="k")
    assert ctypes.CDLL(library).answer() == 7
    assert len(caplog.records) == 1 and "cannot be used" in caplog.text
    assert os.listdir(str(tmp_path)) == []


def _read_only(path):
    if str(path).startswith("/nonexistent"):
        raise OSError(30, "Read-only file system", path)
    return path


def damage(how, library):
    meta = os.path.join(os.path.dirname(library), "meta.json")
    if how == "cut":
        os.truncate(library, 100)
    elif how == "flipped":
        with open(library, "r+b") as file:
            file.seek(5000)
            byte = file.read(1)
            file.seek(5000)
            file.write(bytes([byte[0] ^ 1]))
    elif how == "other version":
        with open(meta, "w") as file:
            file.write('{"format": 99, "entries": []}')
    elif how == "not json":
        with open(meta, "wb") as file:
            file.write(b"\xff\xfe{{{")
    elif how == "deep json":
        with open(meta, "w") as file:
            file.write("[" * 100000)
    elif how == "folder":
        os.remove(library)
        os.mkdir(library)


@pytest.mark.parametrize(
    "how", ["cut", "flipped", "other version", "not json", "deep json", "folder"]
)
def test_damaged_entry_is_built_again(how, own_cache):
    library = build.compile_host_kernel(GOOD % 8, key="k")
    damage(how, library)
    assert build.compile_host_kernel(GOOD % 8, key="k") == library
    assert not build.compile_log()[-1].cached and ctypes.CDLL(library).answer() == 8
    assert remains(own_cache) == []


def test_killed_while_writing(own_cache, fake_compiler):
    fake_compiler("touch {}; sleep 600".format(own_cache / "started"))
    code = "from tf_autofuse import build; build.compile_host_kernel(%r, key='k')" % (GOOD % 9)
    job = subprocess.Popen([sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=ROOT))
    wait_for(lambda: (own_cache / "started").exists())
    job.kill()
    job.wait()
    assert len(remains(own_cache)) == 1
    os.environ.pop("CXX")
    library = build.compile_host_kernel(GOOD % 9, key="k")  # not in the way of the next build
    assert ctypes.CDLL(library).answer() == 9
    assert remains(own_cache) == []


def test_eight_processes_share_a_cache(own_cache):
    code = (
        "import ctypes; from tf_autofuse import build\n"
        "for n in (1, 2): assert ctypes.CDLL(build.compile_host_kernel(%r %% n, key='k')"
        ").answer() == n\n" % GOOD
    )
    env = dict(os.environ, PYTHONPATH=ROOT)
    jobs = [subprocess.Popen([sys.executable, "-c", code], env=env) for _ in range(8)]
    assert [job.wait() for job in jobs] == [0] * 8
    assert len(build.open_cache().entries()) == 2 and remains(own_cache) == []


@pytest.mark.usefixtures("interrupts")
def test_an_interrupt_ends_the_compilers(own_cache, fake_compiler):
    fake_compiler("touch {}; sleep 600".format(own_cache / "started"))

    def interrupt():
        wait_for(lambda: (own_cache / "started").exists())
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        build.compile_many([(str(n), GOOD % n) for n in range(6)])
    thread.join()
    assert children() == []
    assert remains(own_cache) == []


@pytest.mark.usefixtures("interrupts")
def test_an_error_of_the_caller_ends_the_compilers(own_cache, fake_compiler):
    fake_compiler("touch {}; sleep 600".format(own_cache / "started"))
    with pytest.raises(KeyError), build.HostBuilds() as builds:
        for number in range(6):
            builds.start(str(number), GOOD % number)
        wait_for(lambda: (own_cache / "started").exists())
        raise KeyError("of the caller")
    assert children() == []
    assert remains(own_cache) == []


def test_a_child_forked_during_a_build_can_build(fake_compiler, own_cache):
    slow = fake_compiler('touch {0}; sleep 1; exec g++ "$@"'.format(own_cache / "started"))
    assert slow
    thread = threading.Thread(target=lambda: build.compile_many([("k", GOOD % 1)]))
    thread.start()
    wait_for(lambda: (own_cache / "started").exists())
    child = os.fork()
    if child == 0:  # the parent's thread holds the lock of this very kernel
        os.environ.pop("CXX")
        library = build.compile_host_kernel(GOOD % 1, key="k")
        os._exit(ctypes.CDLL(library).answer())
    thread.join()
    assert os.waitpid(child, 0)[1] >> 8 == 1
