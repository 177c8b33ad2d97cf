"""Keras's own tests, fused and not: what passes without autofuse must pass with it.

python scripts/keras_suite.py                              the parts of `PARTS`
python scripts/keras_suite.py losses layers/normalization      parts of keras.src

A part is run in units of a few test files, several at a time. First all tests of a unit run fused;
those that fail run again without fusing, and a test that then passes is an error. The result of a
unit is a file in the state folder: a run that was broken off goes on from there, and units that
were not fine run again. Exit 1 when a test changes or no kernel was used. The time goes into Keras
building graphs and g++ building their kernels; a test that takes too long can be left out by name.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Optional, Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = ("activations", "layers", "losses", "metrics", "ops", "optimizers", "trainers")
FILES = 6  # of a unit: what TensorFlow takes to start is shared, and little is lost
SECONDS = 3600  # that a unit may take; one that does not end is a finding


def source_folder() -> str:
    """The folder of keras.src in this environment."""
    spec = importlib.util.find_spec("keras")
    assert spec is not None and spec.origin is not None, "keras is not installed"
    return os.path.join(os.path.dirname(spec.origin), "src")


def units(part: str) -> Dict[str, List[str]]:
    """Test files of a part in units: name to paths."""
    path = os.path.join(source_folder(), part)
    if os.path.isfile(path):
        return {part: [path]}
    if not os.path.isdir(path):
        raise SystemExit("error: keras.src has no " + part)
    found: Dict[str, List[str]] = {}
    for folder, _, files in sorted(os.walk(path)):
        tests = [os.path.join(folder, f) for f in sorted(files) if f.endswith("_test.py")]
        name = os.path.relpath(folder, source_folder())
        for at in range(0, len(tests), FILES):
            found["{}:{}".format(name, at // FILES)] = tests[at:at + FILES]
    return found


def run_tests(tests: List[str], fuse: bool, without: Sequence[str]) -> Dict[str, Any]:
    """What the plug-in wrote about pytest on some files or tests; if it died, the end of its log as
    `died`."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "results.json")
        paths = [ROOT, os.path.join(ROOT, "tests"), os.environ.get("PYTHONPATH", "")]
        environment = dict(
            os.environ, KERAS_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3", JAX_PLATFORMS="cpu",
            AUTOFUSE_SUITE_OUT=out, AUTOFUSE_SUITE_FUSE="1" if fuse else "0",
            PYTHONPATH=os.pathsep.join(filter(None, paths)),
        )
        command = [
            sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", source_folder(),
            "--confcutdir", folder, "-p", "no:cacheprovider", "-p", "keras_plugin", "-W", "ignore",
            "--import-mode=importlib", "--continue-on-collection-errors",
        ]
        for test in without:
            command += ["--deselect", test]
        try:
            done = subprocess.run(
                command + tests, env=environment, cwd=folder, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
            log, code = done.stdout, str(done.returncode)
        except subprocess.TimeoutExpired as error:
            log, code = error.stdout or b"", "no end in {} s".format(SECONDS)
        if os.path.exists(out):
            with open(out, encoding="utf-8") as file:
                return json.load(file)
    died = "exit code {}\n{}".format(code, log.decode("utf-8", "replace")[-4000:])
    return {"results": {}, "seconds": {}, "kernels": 0, "calls": 0, "died": died}


def run_unit(files: List[str], without: Sequence[str]) -> Dict[str, Any]:
    """All tests of a unit fused, those that fail also unfused, and what differs."""
    began = time.time()
    fused = run_tests(files, True, without)
    again = [os.path.join(source_folder(), test)
             for test, outcome in fused["results"].items() if outcome == "failed"]
    if "died" in fused:
        again = files
    plain = run_tests(again, False, without)["results"] if again else {}
    changed = sorted(test for test, outcome in plain.items()
                     if outcome == "passed" and fused["results"].get(test) != "passed")
    return dict(fused, fine=not changed and "died" not in fused, changed=changed,
                wall=round(time.time() - began, 1))


def count(unit: Dict[str, Any], outcome: str) -> int:
    """Tests of a unit, or files that were not imported, with this outcome when fused."""
    return sum(found.startswith(outcome) for found in unit["results"].values())


def describe(name: str, unit: Dict[str, Any]) -> str:
    """One line of a unit, and what is wrong below it."""
    numbers = (count(unit, "passed"), count(unit, "failed") - len(unit["changed"]),
               count(unit, "not imported"), unit["kernels"], unit["wall"])
    lines = ["{:<44} {:>5} pass, {} fail either way, {} not imported; {} kernels, {:.0f} s".format(
        name, *numbers)]
    lines += ["  passes unfused only: " + test for test in unit["changed"]]
    return "\n".join(lines + (["  died: " + unit["died"]] if "died" in unit else []))


def load(path: str) -> Optional[Dict[str, Any]]:
    """An earlier result of a unit that was fine."""
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        unit = json.load(file)
    return unit if unit["fine"] else None


def unit_result(name: str, files: List[str], args: argparse.Namespace) -> Dict[str, Any]:
    """The result of a unit, from its file in the state folder or of a run."""
    path = os.path.join(args.state, name.replace("/", ".") + ".json")
    unit = None if args.fresh else load(path)
    if unit is None:
        unit = run_unit(files, args.without)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(unit, file)
        os.replace(path + ".new", path)
    print(describe(name, unit), flush=True)
    return unit


def main(argv: List[str]) -> int:
    """Run what is not done yet; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), metavar="PART",
                        help="a file or folder of keras.src")
    parser.add_argument("--state", metavar="FOLDER", default=os.path.join(
        ROOT, "build", "keras_suite"), help="results of units (build/keras_suite)")
    parser.add_argument("--fresh", action="store_true", help="run again what was fine before")
    parser.add_argument("--without", action="append", default=[], metavar="TEST",
                        help="leave out a test: its path below keras.src and its name, "
                             "losses/losses_test.py::MeanSquaredErrorTest::test_config")
    parser.add_argument("--jobs", type=int, default=2, help="units at a time (2)")
    args = parser.parse_args(argv)
    os.makedirs(args.state, exist_ok=True)
    with ThreadPoolExecutor(args.jobs) as pool:
        started = [pool.submit(unit_result, name, files, args)
                   for part in args.parts for name, files in units(part).items()]
        found = [future.result() for future in started]
    calls = sum(unit["calls"] for unit in found)
    print("{} tests pass fused, {} changed; {} kernels, {} calls".format(
        sum(count(unit, "passed") for unit in found), sum(len(unit["changed"]) for unit in found),
        sum(unit["kernels"] for unit in found), calls))
    return 0 if calls and all(unit["fine"] for unit in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
