"""The shell scripts: their syntax, and what they say when something is missing."""

import os
import subprocess

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCRIPTS = sorted(
    os.path.join("scripts", name)
    for name in os.listdir(os.path.join(ROOT, "scripts"))
    if name.endswith(".sh")
) + [os.path.join(".ci", "run")]


def bash(*arguments):
    """Exit code and output of bash with these arguments, in the checkout."""
    done = subprocess.run(
        ["bash"] + list(arguments), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout.decode()


def with_functions(text):
    return bash("-c", "set -euo pipefail; source scripts/common.sh; " + text)


@pytest.mark.parametrize("script", SCRIPTS)
def test_syntax(script):
    assert bash("-n", script) == (0, "")


def test_setup_wants_one_of_three_names():
    code, output = bash("scripts/setup_tf_env.sh", "tf3")
    assert code == 1
    assert "tf1|tf2|latest" in output


@pytest.mark.parametrize("which", ["tf1", "tf2", "latest"])
def test_each_tensorflow_has_requirements_a_folder_and_an_activation(which):
    code, output = with_functions("tf_requirements {0}; tf_venv {0}".format(which))
    assert code == 0
    requirements = output.split()
    assert requirements[0].startswith("tensorflow")
    with open(os.path.join(ROOT, "scripts", "activate_{}.sh".format(which))) as file:
        assert '/{}"'.format(requirements[-1]) in file.read()


def test_unknown_tensorflow_is_named():
    code, output = with_functions("tf_requirements tf9")
    assert code == 1
    assert "unknown TensorFlow tf9: allowed are tf1, tf2, latest" in output


def test_missing_compiler_tells_what_to_install():
    code, output = with_functions("CXX=; PATH=; id() { echo 1000; }; ensure_cxx")
    assert code == 1
    assert "g++ is missing" in output
    assert "sudo apt-get install g++" in output


def test_wrong_cxx_is_named():
    code, output = with_functions("CXX=no-such-compiler; ensure_cxx")
    assert code == 1
    assert "no-such-compiler" in output


def test_missing_python_is_a_failure_without_output():
    assert with_functions("find_python 2.0 && echo found || echo none") == (0, "none\n")


def test_found_python_has_the_wanted_version():
    version = "import sys; print('%d.%d' % sys.version_info[:2])"
    python = '"$(find_python 3.7 3.8 3.9 3.10 3.11 3.12 3.13)"'
    code, output = with_functions('{} -c "{}"'.format(python, version))
    assert code == 0
    assert output.strip() in ("3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")


def test_activation_without_environment_says_what_to_do(tmp_path):
    copy = tmp_path / "scripts"
    copy.mkdir()
    with open(os.path.join(ROOT, "scripts", "activate_tf1.sh")) as file:
        (copy / "activate_tf1.sh").write_text(file.read())
    code, output = bash("-c", "source {}/activate_tf1.sh".format(copy))
    assert "run scripts/setup_tf_env.sh tf1 first" in output


def test_ci_runs_the_test_script():
    with open(os.path.join(ROOT, ".ci", "run")) as file:
        assert "scripts/test.sh" in file.read()
