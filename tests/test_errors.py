"""Error texts and the loggers."""

import logging
import pickle

import pytest

from tf_autofuse import errors, log


@pytest.mark.parametrize(
    "kind", [errors.Unsupported, errors.IRError, errors.ScheduleError, errors.FlagError]
)
def test_text_names_stage_and_node(kind):
    error = kind("no rule", node="add_1", stage="lower")
    assert isinstance(error, errors.AutofuseError)
    assert str(error) == "[lower] add_1: no rule"
    assert (error.node, error.stage) == ("add_1", "lower")


def test_empty_parts_are_left_out():
    assert str(errors.IRError("no rule")) == "no rule"
    assert str(errors.IRError("no rule", node="a")) == "a: no rule"
    assert str(errors.IRError("no rule", stage="lower")) == "[lower] no rule"


def test_unsupported_has_a_code():
    assert errors.Unsupported("x").code == ""
    assert errors.Unsupported("x", code="dtype").code == "dtype"


def test_build_error_keeps_the_command():
    error = errors.BuildError(
        "failed", command=("g++", "a.cc"), returncode=1, output="a.cc:1: error", source="a.cc"
    )
    assert error.command == ["g++", "a.cc"]
    assert (error.returncode, error.output, error.source) == (1, "a.cc:1: error", "a.cc")
    assert str(error) == "[build] failed"


def test_dump_error_leads_with_the_place():
    error = errors.DumpError("unexpected end", path="ge_proto_1.txt", line=7)
    assert str(error).startswith("ge_proto_1.txt:7: ")
    assert str(error).endswith("unexpected end")
    assert str(errors.DumpError("x", path="p")).startswith("p: ")


def test_errors_survive_pickling():
    error = pickle.loads(pickle.dumps(errors.Unsupported("m", node="n", stage="s", code="c")))
    assert (str(error), error.code) == ("[s] n: m", "c")


def test_loggers_hang_under_one_name():
    assert log.get_logger("ge.dump").name == "tf_autofuse.ge.dump"
    assert log.get_logger("tf_autofuse.ge").name == "tf_autofuse.ge"
    assert log.get_logger().name == "tf_autofuse"


def test_warn_once(caplog):
    log.forget_warnings()
    with caplog.at_level(logging.WARNING, logger="tf_autofuse"):
        assert log.warn_once(("k", 1), "first 100%")
        assert not log.warn_once(("k", 1), "second")
        assert log.warn_once(("k", 2), "third")
    assert [record.getMessage() for record in caplog.records] == ["first 100%", "third"]
