"""Scripts for the commands that run one."""

import textwrap

import pytest


@pytest.fixture
def script(tmp_path):
    """A function that writes a script and gives its path."""

    def write(code, name="script.py"):
        path = tmp_path / name
        path.write_text(textwrap.dedent(code))
        return path

    return write
