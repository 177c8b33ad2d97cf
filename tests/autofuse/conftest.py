"""What the tests of the pass share."""
import pytest
from made_up import build_with, libraries

from tf_autofuse import flags
from tf_autofuse.report.model import RECORDER


@pytest.fixture
def no_compiler(monkeypatch, tmp_path):
    """No environment, an empty report, no compiler: libraries are made-up paths."""
    monkeypatch.delenv("AUTOFUSE_FLAGS", raising=False)
    monkeypatch.delenv("AUTOFUSE_DFX_FLAGS", raising=False)
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path))
    build_with(monkeypatch, libraries)
    RECORDER.clear()
    yield
    flags.set_overrides(None)
    RECORDER.clear()
