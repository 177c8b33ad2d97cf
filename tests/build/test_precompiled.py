"""A precompiled header is used when it is there and never needed."""

import ctypes
import os

from tf_autofuse import build
from tf_autofuse.build import precompiled

FLAGS = ("-O0", "-fPIC", "-shared")
SOURCE = '#include "number.h"\nextern "C" int answer() { return kNumber; }\n'


def make(folder, text=SOURCE):
    header = ("number.h", '#include "{}/number.h"\n'.format(folder))
    path = build.build_library(
        text, label="answer", flags=FLAGS, include_dirs=(str(folder),), header=header)
    return ctypes.CDLL(path).answer()


def compiled(cache):
    return [os.path.join(d, f) for d, _, files in os.walk(str(cache)) for f in files
            if f.endswith(".gch")]


def test_the_header_is_compiled_once_and_follows_its_text(tmp_path, own_cache):
    (tmp_path / "number.h").write_text("#ifndef N\n#define N\nconst int kNumber = 41;\n#endif\n")
    assert make(tmp_path) == 41
    assert make(tmp_path, SOURCE + "// two\n") == 41
    assert len(compiled(own_cache)) == 1
    (tmp_path / "number.h").write_text("#ifndef N\n#define N\nconst int kNumber = 1042;\n#endif\n")
    assert make(tmp_path) == 1042


def test_without_it_the_plain_header_serves(tmp_path, own_cache):
    (tmp_path / "number.h").write_text("#ifndef N\n#define N\nconst int kNumber = 7;\n#endif\n")
    assert make(tmp_path) == 7
    (found,) = compiled(own_cache)
    os.unlink(found)
    assert make(tmp_path, SOURCE + "// two\n") == 7


def test_a_header_that_cannot_be_compiled_costs_nothing(tmp_path, own_cache, monkeypatch):
    (tmp_path / "number.h").write_text("const int kNumber = 3;\n")
    monkeypatch.setattr(precompiled, "compile_shared", _refuse)
    assert make(tmp_path) == 3
    assert compiled(own_cache) == []


def _refuse(*_):
    raise OSError("no room")
