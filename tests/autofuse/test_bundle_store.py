"""The shelf of bundles: a folder per generator, a bound on the number, oldest first."""
import os

import pytest

from tf_autofuse.autofuse import bundle_store


@pytest.fixture
def shelf(monkeypatch, tmp_path):
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(bundle_store, "MAX_BUNDLES", 8)
    bundle_store.prune.cache_clear()
    yield tmp_path / "bundles"
    bundle_store.prune.cache_clear()


def fill(shelf, generator, count, age):
    for number in range(count):
        path = shelf / generator / ("k%d" % number)
        path.mkdir(parents=True)
        os.utime(str(path), (age + number, age + number))


def test_the_folder_names_the_generator(shelf):
    root = bundle_store.bundle_root()
    assert os.path.dirname(root) == str(shelf)
    assert len(os.path.basename(root)) == 12 and root == bundle_store.bundle_root()


def test_the_oldest_go_first(shelf):
    root = bundle_store.bundle_root()
    fill(shelf, "old", 4, 1000)
    fill(shelf, os.path.basename(root), 6, 2000)
    assert bundle_store.prune(root) == 4
    assert not (shelf / "old").exists()
    assert len(os.listdir(root)) == 6


def test_few_bundles_stay(shelf):
    root = bundle_store.bundle_root()
    fill(shelf, os.path.basename(root), 8, 1000)
    assert bundle_store.prune(root) == 0
    assert bundle_store.prune(str(shelf / "missing" / "x")) == 0
