"""``tf-autofuse run`` runs a script as python would."""

import json
import os
import subprocess
import sys

import pytest
from cli_process import tf_autofuse


def test_arguments_path_and_name_are_those_of_python(script, tmp_path):
    code = "import json, sys; print(json.dumps([sys.argv, sys.path[0], __name__, __file__]))"
    path = script(code)
    arguments = ["--quiet", "-m", "x y", "--flags", "--"]
    done = tf_autofuse("run", "--quiet", path, *arguments)
    plain = subprocess.run(
        [sys.executable, str(path)] + arguments, stdout=subprocess.PIPE, text=True
    )
    assert json.loads(done.stdout) == json.loads(plain.stdout)
    assert done.returncode == 0 and done.stderr == ""


def test_a_module_runs_from_the_working_folder(script, tmp_path):
    script("import sys; print(sys.argv[1:], sys.path[0]); sys.exit(5)", "work.py")
    done = tf_autofuse("run", "--quiet", "-m", "work", "-m", "1", cwd=str(tmp_path))
    assert done.returncode == 5
    assert done.stdout.strip() == "['-m', '1'] " + os.path.realpath(str(tmp_path))


@pytest.mark.parametrize(
    "code, expected, text",
    [
        ("raise SystemExit", 0, ""),
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('no luck')", 1, "no luck"),
        ("raise KeyError('k')", 1, "KeyError: 'k'"),
        ("x = (", 1, "SyntaxError"),
    ],
)
def test_exit_codes(script, code, expected, text):
    done = tf_autofuse("run", script(code))
    assert done.returncode == expected
    assert text in done.stderr


def test_the_traceback_begins_at_the_script(script):
    path = script("def f():\n    return 1 / 0\nf()\n")
    done = tf_autofuse("run", "--quiet", path)
    lines = done.stderr.splitlines()
    assert lines[0].startswith("Traceback") and str(path) in lines[1]
    assert "runpy" not in done.stderr and lines[-1].startswith("ZeroDivisionError")


def test_tensorflow_is_not_imported_before_the_script_does(script):
    done = tf_autofuse("run", "--quiet", script("import sys; print('tensorflow' in sys.modules)"))
    assert done.stdout.strip() == "False"


def test_it_says_that_it_turns_autofuse_on(script):
    path = script("import os; print(os.environ.get('AUTOFUSE_FLAGS'))")
    done = tf_autofuse("run", path)
    assert "autofuse is on for this run" in done.stderr and done.stdout.strip() == "None"
    assert "0 kernels fused from 0 operators" in done.stderr
    done = tf_autofuse("run", path, AUTOFUSE_FLAGS="--enable_autofuse=true")
    assert "is on for this run" not in done.stderr and "0 kernels fused" in done.stderr


SHOW = """
    import sys
    import tensorflow as tf
    from tf_autofuse import flags
    intercept = sys.modules.get("tf_autofuse.frontend.tensorflow.intercept")
    print(flags.current().enable_autofuse, bool(intercept and intercept.is_installed()))
"""


def test_switched_off_by_the_environment_nothing_is_hooked(script):
    pytest.importorskip("tensorflow")
    done = tf_autofuse("run", script(SHOW), AUTOFUSE_FLAGS="--enable_autofuse=false")
    assert done.stdout.split() == ["False", "False"], done.stderr
    assert "autofuse is off" in done.stderr and "kernels" not in done.stderr
    done = tf_autofuse("run", "--flags", "--enable_autofuse=false", script(SHOW))
    assert done.stdout.split() == ["False", "False"]


def test_the_option_wins_over_the_environment(script):
    pytest.importorskip("tensorflow")
    path = script(SHOW)
    done = tf_autofuse(
        "run", "--flags", "--enable_autofuse=true", path, AUTOFUSE_FLAGS="--enable_autofuse=false"
    )
    if "BuildError" in done.stderr or "unfused" in done.stderr:
        pytest.skip("no TensorFlow extension")
    assert done.stdout.split() == ["True", "True"], done.stderr


def test_bad_input_is_one_line_and_code_2(script):
    path = script("print('ran')")
    for arguments, text in (
        (["run"], "no script given"),
        (["run", "gone.py"], "no such script: gone.py"),
        (["run", "--flags", "--strct=true", path], "did you mean --strict=true?"),
    ):
        done = tf_autofuse(*arguments)
        assert done.returncode == 2 and done.stdout == ""
        assert text in done.stderr and len(done.stderr.splitlines()) == 1
    done = tf_autofuse("run", path, AUTOFUSE_FLAGS="--enable_autofuse=yes")
    assert done.returncode == 2 and "--enable_autofuse=true" in done.stderr
    done = tf_autofuse("run", path, AUTOFUSE_DFX_FLAGS="--att_ub_threshold=200")
    assert done.returncode == 2 and "att_ub_threshold" in done.stderr
    assert tf_autofuse("walk").returncode == 2


def test_report_and_dump_options(script, tmp_path):
    path = script("import os; print(os.environ['DUMP_GE_GRAPH'], os.environ['DUMP_GRAPH_PATH'])")
    report, dumps = tmp_path / "report.json", tmp_path / "a" / "b"
    done = tf_autofuse("run", "--quiet", "--report=%s" % report, "--dump", dumps, path)
    assert done.stdout.split() == ["2", str(dumps)] and dumps.is_dir()
    assert json.loads(report.read_text()) == {"kernels": [], "unfused": []}
    done = tf_autofuse(
        "run",
        "--report",
        tmp_path / "no" / "r.json",
        path,
        DUMP_GE_GRAPH="1",
        DUMP_GRAPH_PATH=str(tmp_path),
    )
    assert done.returncode == 2 and "report cannot be written" in done.stderr
