"""PyTorch Inductor on the cases of `bench.py speed`, in a process of its own.

Two runtimes in one process would share OpenMP and its threads. So the benchmark starts this file
under an interpreter that has PyTorch, sends one line of JSON for a case or for a number of calls,
and takes one line back; between lines the process waits and takes no time from the others.
"""
from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Sequence


class Inductor:
    """The process under `python`, which can import PyTorch."""

    def __init__(self, python: str, threads: int, cpu_time: bool) -> None:
        command = [python, "-W", "ignore", __file__, str(threads), "cpu" if cpu_time else "wall"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL, text=True)

    def prepare(self, name: str, shapes: Sequence[Sequence[int]], dtype: str,
                positive: Sequence[int], dynamic: bool) -> None:
        """Compile the case `name` for normally distributed inputs; those that `positive` numbers
        hold values in 0 .. 1."""
        self._ask({"case": name, "shapes": shapes, "dtype": dtype, "positive": positive,
                   "dynamic": dynamic})

    def timed(self, repeat: int) -> float:
        """Seconds of one call, the mean over `repeat` calls."""
        return self._ask({"repeat": repeat})

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _ask(self, question: Dict[str, Any]) -> float:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("PyTorch's process ended at %s" % question)
        return json.loads(answer)


def why_not(python: str) -> str:
    """Why `python` cannot serve: what is wrong and what to do; empty when it can."""
    try:
        done = subprocess.run([python, "-c", "import torch"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
    except OSError as error:
        return "%s does not run (%s); name a Python that has PyTorch" % (python, error.strerror)
    if done.returncode == 0:
        return ""
    reason = (done.stderr.strip().splitlines() or ["exit code %d" % done.returncode])[-1]
    return "%s cannot import torch (%s); install it there with `pip install torch`" % (
        python, reason)


# ---- the process ---------------------------------------------------------------------------------


def _functions() -> Dict[str, Callable[..., Any]]:
    """The cases of `bench_cases.CASES` in PyTorch's words."""
    import torch
    from torch.nn import functional

    def layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        return (x - mean) * torch.rsqrt(variance + 1e-5) * gamma + beta

    def adam(p: Any, m: Any, v: Any, g: Any) -> Any:
        m_next = 0.9 * m + 0.1 * g
        v_next = 0.999 * v + 0.001 * g * g
        return p - 0.001 * m_next / (torch.sqrt(v_next) + 1e-7), m_next, v_next

    def group_norm(x: Any, gamma: Any, beta: Any) -> Any:
        variance, mean = torch.var_mean(x, (1, 3), correction=0, keepdim=True)
        scale = torch.rsqrt(variance + 1e-3) * gamma
        return x * scale + (beta - mean * scale)

    def sigmoid_grad_bias(y: Any, dy: Any) -> Any:
        dx = dy * y * (1.0 - y)
        return dx, dx.sum(0)

    def abs_relu_exp(x: Any) -> Any:
        return torch.exp(-torch.relu(torch.abs(x)))

    def softmax(x: Any) -> Any:
        return torch.softmax(x * 0.125, -1)

    return {
        "abs_relu_exp": abs_relu_exp,
        "abs_relu_exp_fp16": abs_relu_exp,
        "abs_add_relu": lambda x, bias: torch.relu(torch.abs(x) + bias),
        "outer_tanh": lambda column, row: torch.tanh(column + row),
        "row_sum": lambda x: torch.abs(x).sum(-1),
        "column_sum": lambda x: torch.abs(x).sum(0),
        "square_error": lambda x, y: torch.square(x - y).mean(),
        "gelu_bias": lambda x, bias: functional.gelu(x + bias),
        "gelu_backward": lambda x, bias, dy: torch.ops.aten.gelu_backward(
            dy, x + bias, approximate="tanh"),
        "layer_norm": layer_norm,
        "softmax": softmax,
        "adam": adam,
        "sigmoid_ce_mean": lambda labels, logits: functional.binary_cross_entropy_with_logits(
            logits, labels),
        "batch_norm_stats": lambda x: torch.var_mean(x, 0, correction=0),
        "group_norm": group_norm,
        "both_sums": lambda x: (x.sum(0), x.sum(1)),
        "row_sum_few": lambda x, y: (x * y).sum(-1),
        "column_sum_few": lambda x: torch.abs(x).sum(0),
        "softmax_few": softmax,
        "sigmoid_grad_bias": sigmoid_grad_bias,
        "swiglu": lambda gate, up: gate * torch.sigmoid(gate) * up,
        "where": lambda x, y: torch.where(x > y, x * 2.0, y - x),
    }


def _prepared(case: Dict[str, Any], function: Callable[..., Any]) -> Callable[[], Any]:
    """A call of the compiled case, after two of them."""
    import torch

    inputs: List[Any] = []
    for number, shape in enumerate(case["shapes"]):
        values = torch.randn(shape)
        if number in case["positive"]:
            values = values.abs().clamp(max=1.0)
        inputs.append(values.to(getattr(torch, case["dtype"])))
    torch.compiler.reset()
    compiled = torch.compile(function, dynamic=case["dynamic"])

    def call() -> None:
        with torch.no_grad():
            compiled(*inputs)

    call()
    call()
    return call


def main() -> int:
    """Serve the lines of standard input: arguments are the number of threads and the clock."""
    import torch

    torch.set_num_threads(int(sys.argv[1]))
    clock = time.process_time if sys.argv[2] == "cpu" else time.perf_counter
    functions = _functions()
    call: Callable[[], Any] = list
    for line in sys.stdin:
        question = json.loads(line)
        seconds = 0.0
        if "case" in question:
            call = _prepared(question, functions[question["case"]])
        else:
            start = clock()
            for _ in range(question["repeat"]):
                call()
            seconds = (clock() - start) / question["repeat"]
        print(seconds, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
