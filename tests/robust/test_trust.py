"""Folders that others can change are not used for code."""

import os

import pytest

from tf_autofuse import build
from tf_autofuse.build.cache import KernelCache
from tf_autofuse.build.trust import why_untrusted
from tf_autofuse.runtime import host

GOOD = 'extern "C" __attribute__((visibility("default"))) int answer() { return 1; }\n'


def test_every_parent_counts(tmp_path):
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert why_untrusted(str(deep)) == ""
    os.chmod(str(tmp_path / "a"), 0o757)
    assert "others may write to {}".format(tmp_path / "a") in why_untrusted(str(deep))
    os.chmod(str(tmp_path / "a"), 0o1777)  # as /tmp: others cannot move what is not theirs
    assert why_untrusted(str(deep)) == ""
    assert "No such file" in why_untrusted(str(deep / "gone"))


def test_links_are_followed(tmp_path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "kernels").mkdir()
    os.chmod(str(tmp_path / "open"), 0o777)
    os.symlink(str(tmp_path / "open" / "kernels"), str(tmp_path / "link"))
    assert "others may write" in why_untrusted(str(tmp_path / "link"))


@pytest.mark.parametrize("members, name, trusted", [
    ([], "me", True), (["me"], "me", True), (["me", "you"], "me", False), ([], "staff", False)])
def test_a_group_of_ones_own_is_no_group(tmp_path, monkeypatch, members, name, trusted):
    grp, pwd = pytest.importorskip("grp"), pytest.importorskip("pwd")
    group = os.stat(str(tmp_path)).st_gid
    monkeypatch.setattr(os, "geteuid", lambda: os.stat(str(tmp_path)).st_uid or 0)
    user = type("User", (), {"pw_name": "me", "pw_gid": 4711})
    entry = type("Group", (), {"gr_name": name, "gr_mem": members})
    monkeypatch.setattr(pwd, "getpwuid", lambda number: user)
    monkeypatch.setattr(grp, "getgrgid", lambda number: entry)
    if os.getuid() != 0:
        pytest.skip("only root can give a folder to a group")
    os.chown(str(tmp_path), 0, 4711)
    os.chmod(str(tmp_path), 0o770)
    assert group != 4711 and (why_untrusted(str(tmp_path)) == "") is trusted


def test_a_cache_below_an_open_folder_is_not_used(tmp_path, monkeypatch, caplog):
    shared = tmp_path / "shared"
    shared.mkdir()
    os.chmod(str(shared), 0o777)
    with pytest.raises(PermissionError, match="others may write"):
        KernelCache(str(shared / "cache"))
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(shared / "cache"))
    with caplog.at_level("WARNING", logger="tf_autofuse"):
        library = build.compile_host_kernel(GOOD, key="k")
    assert not library.startswith(str(shared))
    assert "others may write to {}".format(shared) in caplog.text


def test_a_kernel_is_not_loaded_from_an_open_folder(tmp_path):
    library = build.compile_host_kernel(GOOD, key="k")
    os.chmod(os.path.dirname(library), 0o777)
    with pytest.raises(host.KernelRunError, match="is not loaded: others may write"):
        host.load_kernel(library)
