"""Run the examples fused, check what was fused and that the numbers hold, and say where things are.

    python scripts/run_examples.py [--out DIR] [--only NAME] [--jobs N]

Exit code 0 only if every example fused what it should, its numbers equal TensorFlow's, and
`tf-autofuse verify` accepts its graph dumps.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Dict, FrozenSet, List, Sequence, Tuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Sums in another order drift apart over the steps of a training. The difference is taken relative
# to the loss, and where that has fallen near zero to a part of the first loss.
CURVE_RTOL, CURVE_FLOOR = 1e-3, 0.05
TIMEOUT = 600


@dataclass(frozen=True)
class Example:
    """One script with one set of arguments.

    ``fuses`` lists operator types, each with its alternative spellings, that one kernel must hold.
    """

    name: str
    args: Tuple[str, ...]
    fuses: Tuple[FrozenSet[str], ...]
    steps: int
    has_curve: bool = False
    needs_tf2: bool = False

    @property
    def title(self) -> str:
        return " ".join((self.name,) + self.args)

    @property
    def folder(self) -> str:
        return "-".join([self.name] + [arg.lstrip("-") for arg in self.args])

    @property
    def script(self) -> str:
        return os.path.join(ROOT, "examples", "tensorflow", self.name, self.name + ".py")


def _types(*names: str) -> Tuple[FrozenSet[str], ...]:
    return tuple(frozenset(name.split("|")) for name in names)


_INFERENCE = {
    "af_tf_eleandele": _types("Abs", "Relu", "Exp"),
    "af_tf_eleandbroadcast": _types("Abs", "Add|AddV2", "Relu"),
    "af_tf_eleandreduce": _types("Abs", "ReduceSum|ReduceSumD"),
}
EXAMPLES = tuple(
    Example(name, ("--mode", mode), types, steps=100, needs_tf2=mode == "tf2-compat")
    for name, types in _INFERENCE.items()
    for mode in ("tf1", "tf2-compat")
) + tuple(
    Example(name, ("--style", style), _types(*types), steps=steps, has_curve=True)
    for name, steps, types in (
        ("af_tf_train", 60, ("Exp", "ReduceSum|ReduceSumD")),
        ("af_tf_recommender", 60, ("Log1p", "Mul")),
        ("af_tf_transformer", 60, ("Rsqrt", "ReduceMean|ReduceMeanD", "Mul")),
        ("af_tf_convnet", 30, ("Rsqrt", "LeakyRelu")),
    )
    for style in ("session", "function")
)


@dataclass
class Outcome:
    """What came of one example; it is good when `problems` is empty."""

    example: Example
    folder: str
    output: str = ""
    kernels: List[Dict[str, Any]] = field(default_factory=list)
    unfused: List[Dict[str, Any]] = field(default_factory=list)
    verified: Dict[str, Any] = field(default_factory=dict)
    problems: List[str] = field(default_factory=list)


def tool(python: str = sys.executable) -> List[str]:
    """The command line of tf-autofuse that belongs to `python`."""
    script = os.path.join(os.path.dirname(python), "tf-autofuse")
    return [script] if os.path.exists(script) else [python, "-m", "tf_autofuse.cli"]


def environment(fused: bool, dumps: str = "") -> Dict[str, str]:
    """The caller's environment with the package, the flags and the dump variables set."""
    env = dict(os.environ)
    for name in list(env):
        if name.startswith(("AUTOFUSE_FLAGS", "AUTOFUSE_DFX", "DUMP_G", "NPU_COLLECT")):
            del env[name]
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [ROOT, env.get("PYTHONPATH")]))
    env.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    if fused:
        env["AUTOFUSE_FLAGS"] = "--enable_autofuse=true"
    if dumps:
        env.update(DUMP_GE_GRAPH="2", DUMP_GRAPH_PATH=dumps)
    return env


def run_example(example: Example, out: str) -> Outcome:
    """Run, check and verify one example; its files go to a fresh folder under `out`."""
    folder = os.path.join(out, example.folder)
    shutil.rmtree(folder, ignore_errors=True)
    dumps = os.path.join(folder, "dumps")
    os.makedirs(dumps)
    outcome = Outcome(example, folder)
    report = os.path.join(folder, "report.json")
    script = [example.script] + list(example.args)
    if example.has_curve:
        script += ["--curve-out", os.path.join(folder, "curve.json")]
    code = _run(tool() + ["run", "--report", report] + script, environment(True, dumps), outcome)
    if code != 0:
        outcome.problems.append("the script ended with exit code {}".format(code))
    _read_report(report, outcome)
    _check_fused(outcome)
    if example.has_curve:
        _check_curve(outcome)
    _verify(dumps, outcome)
    return outcome


def _run(command: Sequence[str], env: Dict[str, str], outcome: Outcome) -> int:
    """Exit code; the output goes to output.txt and to the outcome."""
    done = subprocess.run(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT
    )
    text = done.stdout.decode(errors="replace")
    with open(os.path.join(outcome.folder, "output.txt"), "a") as file:
        file.write("$ {}\n{}\n".format(" ".join(command), text))
    outcome.output += text
    return done.returncode


def _read_report(path: str, outcome: Outcome) -> None:
    if not os.path.exists(path):
        outcome.problems.append("no report was written to {}".format(path))
        return
    with open(path) as file:
        report = json.load(file)
    outcome.kernels = report["kernels"]
    outcome.unfused = report["unfused"]


def _check_fused(outcome: Outcome) -> None:
    """One kernel must hold all the expected types and must have run."""
    wanted = outcome.example.fuses
    fitting = [
        kernel
        for kernel in outcome.kernels
        if all(set(kernel["op_types"]) & spellings for spellings in wanted)
    ]
    names = ", ".join("/".join(sorted(spellings)) for spellings in wanted)
    if not fitting:
        outcome.problems.append("no kernel fuses {}".format(names))
    elif max(kernel["calls"] for kernel in fitting) < outcome.example.steps:
        outcome.problems.append("the kernel of {} did not run every step".format(names))


def _check_curve(outcome: Outcome) -> None:
    """The loss of every step must equal that of the same script without fusing."""
    plain = os.path.join(outcome.folder, "curve_unfused.json")
    example = outcome.example
    command = [sys.executable, example.script] + list(example.args) + ["--curve-out", plain]
    if _run(command, environment(False), outcome) != 0:
        outcome.problems.append("the script fails without fusing as well")
        return
    fused = os.path.join(outcome.folder, "curve.json")
    if not os.path.exists(fused):
        return
    results = []
    for path in (fused, plain):
        with open(path) as file:
            results.append(json.load(file))
    pair = [result["loss"] for result in results]
    least = CURVE_FLOOR * abs(pair[1][0])
    worst = max(abs(a - b) / max(abs(b), least) for a, b in zip(*pair))
    outcome.output += (
        "loss curve against the unfused one: largest relative difference {:.2g}\n".format(worst)
    )
    times = [result["step_seconds"] * 1e3 for result in results if "step_seconds" in result]
    if len(times) == 2:
        outcome.output += "median step {:.2f} ms fused, {:.2f} ms unfused\n".format(*times)
    if len(pair[0]) != len(pair[1]) or not worst <= CURVE_RTOL:
        outcome.problems.append("the loss curve differs from the unfused one by {}".format(worst))


def _verify(dumps: str, outcome: Outcome) -> None:
    done = subprocess.run(
        tool() + ["verify", dumps, "--json"],
        env=environment(False),
        capture_output=True,
        timeout=TIMEOUT,
    )
    text = done.stdout.decode(errors="replace")
    with open(os.path.join(outcome.folder, "verify.json"), "w") as file:
        file.write(text)
    if done.returncode != 0:
        detail = (text + done.stderr.decode(errors="replace")).strip()[-500:]
        outcome.problems.append(
            "verify ended with exit code {}: {}".format(done.returncode, detail)
        )
    else:
        outcome.verified = json.loads(text)


def describe(outcome: Outcome) -> None:
    """Print one outcome."""
    print("\n== {}".format(outcome.example.title))
    for kernel in outcome.kernels:
        print("   kernel   {}".format(kernel["name"]))
        print("            {}, {} calls".format(_short(kernel["op_types"]), kernel["calls"]))
        if kernel.get("gm_bytes"):
            moved = "{gm_bytes} bytes of global memory moved, {gm_bytes_unfused} unfused"
            print("            {}".format(moved.format(**kernel)))
        print("            {}".format(kernel["source"]))
    if outcome.kernels:
        fused = sum(len(kernel["op_types"]) for kernel in outcome.kernels)
        print("   share    {} operators fused, {} left".format(fused, len(outcome.unfused)))
    for line in outcome.output.splitlines():
        if "largest" in line:
            print("   numbers  {}".format(line))
        if "unfused" in line and line.startswith("median"):
            print("   time     {}".format(line))
    if outcome.verified:
        print("   verify   before and after agree")
    print("   files    {}".format(os.path.relpath(outcome.folder, ROOT)))
    for problem in outcome.problems:
        print("   PROBLEM  {}".format(problem))
    if outcome.problems:
        print("   last lines of output.txt:")
        print("\n".join("     " + line for line in outcome.output.splitlines()[-15:]))


def _short(types: Sequence[str], most: int = 12) -> str:
    more = ", ... {} in all".format(len(types)) if len(types) > most else ""
    return ", ".join(types[:most]) + more


def summarize(outcomes: Sequence[Outcome], out: str) -> None:
    """Print the closing lines."""
    print("\n== Summary")
    for outcome in outcomes:
        word = "FAILED" if outcome.problems else "ok"
        print(
            "   {:<6}  {:<40}  {:>2} kernels".format(
                word, outcome.example.title, len(outcome.kernels)
            )
        )
    place = os.path.relpath(out, ROOT)
    print("   graph dumps     {}/*/dumps".format(place))
    print(
        "   reports         {}/*/report.json (kernels, their sources, what stayed unfused)".format(
            place
        )
    )
    print("   numbers         {}/*/output.txt".format(place))


def main(argv: Sequence[str]) -> int:
    """Run the examples; returns the exit code."""
    parser = argparse.ArgumentParser(description="Run the examples fused and check them.")
    parser.add_argument("--out", default=os.path.join(ROOT, "build", "quickstart"))
    parser.add_argument("--only", default="", help="only examples whose title holds this text")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tf1", action="store_true", help="leave out what needs TensorFlow 2")
    args = parser.parse_args(argv)
    chosen = [e for e in EXAMPLES if args.only in e.title and not (args.tf1 and e.needs_tf2)]
    with ThreadPoolExecutor(args.jobs) as pool:
        outcomes = list(pool.map(lambda example: run_example(example, args.out), chosen))
    for outcome in outcomes:
        describe(outcome)
    summarize(outcomes, args.out)
    return 1 if not outcomes or any(outcome.problems for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
