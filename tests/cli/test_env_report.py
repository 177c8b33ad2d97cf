"""tf-autofuse env --report: everything needed to understand a problem, nothing private."""

import json

from tf_autofuse.cli import env_report
from tf_autofuse.cli import main as cli


def test_the_report_gathers_versions_flags_and_dumps(monkeypatch, tmp_path):
    home = tmp_path / "cann"
    (home / "include" / "graph").mkdir(parents=True)
    (home / "version.cfg").write_text("# x\nruntime_running_version=[8.5.0]\n")
    dumps = tmp_path / "dumps" / "pid_1_deviceid_0"
    dumps.mkdir(parents=True)
    (dumps / "ge_proto_00000000_graph_0_PreRunBegin.txt").write_text("graph {}")
    (dumps / "other.txt").write_text("not ours")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(home))
    monkeypatch.setenv("DUMP_GRAPH_PATH", str(tmp_path / "dumps"))
    monkeypatch.setenv("AUTOFUSE_FLAGS", "--enable_autofuse=true")
    monkeypatch.setenv("AUTOFUSE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ASCEND_API_TOKEN", "do-not-tell")
    monkeypatch.setenv("MY_VARIABLE", "neither")
    path = tmp_path / "report.json"
    assert cli.main(["env", "--report", str(path)]) == 0
    text = path.read_text()
    report = json.loads(text)
    assert report["facts"]["flags in force"] == "enable_autofuse=True"
    assert report["cann"]["versions"]["version.cfg"] == ["runtime_running_version=[8.5.0]"]
    names = [entry["name"] for entry in report["dumps"]]
    assert names == ["ge_proto_00000000_graph_0_PreRunBegin.txt"]
    assert "do-not-tell" not in text and "MY_VARIABLE" not in text


def test_names_of_people_and_machines_are_taken_out(monkeypatch):
    monkeypatch.setenv("HOME", "/data/anna")
    monkeypatch.setattr(env_report, "_user", lambda: "anna")
    monkeypatch.setattr(env_report.socket, "gethostname", lambda: "node17")
    text = env_report.scrub("/data/anna/x /home/bob/y anna@node17 hannah")
    assert text == "~/x ~/y <user>@<host> hannah"
