"""The flag table, the parser of the two variables, and what it says about wrong input."""

import importlib.util
import itertools
import os
import re

import pytest

from tf_autofuse import flags
from tf_autofuse.errors import AutofuseError, FlagError
from tf_autofuse.flag_table import DFX, FLAGS, MAIN
from tf_autofuse.platforms import PLATFORMS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

MAIN_KEYS = {
    "enable_autofuse",
    "autofuse_enable_pass",
    "autofuse_disable_pass",
    "recomputation_threshold",
    "max_fusion_size",
    "autofuse_enhance_precision_blacklist",
    "autofuse_enable_pgo",
    "experimental_enable_jit_executor_v2",
    "strict",
    "async_compile",
    "remember_graphs",
    "pass_stage",
    "soc",
    "build_seconds",
    "build_memory_mb",
}
DFX_KEYS = {
    "autofuse_att_algorithm",
    "att_accuracy_level",
    "att_enable_multicore_ub_tradeoff",
    "att_ub_threshold",
    "att_corenum_threshold",
    "att_profiling",
    "att_enable_small_shape_strategy",
    "autofuse_enable_tiling_cache",
    "autofuse_pgo_algo",
    "autofuse_pgo_step_max",
    "autofuse_pgo_topn",
    "force_schedule_result",
    "force_tiling_case",
    "force_template_op_name",
    "codegen_compile_debug",
    "debug_dir",
    "disable_lifting",
    "subgraph_recover",
    "skip_node_names_cfg",
    "replace_kernel",
}


@pytest.fixture(autouse=True)
def clean_flags(monkeypatch):
    monkeypatch.delenv(MAIN, raising=False)
    monkeypatch.delenv(DFX, raising=False)
    flags.set_overrides(None)
    yield
    flags.set_overrides(None)


def refused(main="", dfx=""):
    with pytest.raises(FlagError) as caught:
        flags.parse(main, dfx)
    return str(caught.value)


def test_table_has_every_key():
    assert {name for name, flag in FLAGS.items() if flag.env == MAIN} == MAIN_KEYS
    assert {name for name, flag in FLAGS.items() if flag.env == DFX} == DFX_KEYS


@pytest.mark.parametrize("flag", list(FLAGS.values()), ids=list(FLAGS))
def test_row_is_sound(flag):
    assert flag.name.isidentifier()
    assert flag.help.endswith(".")
    if flag.default_text():
        assert flag.read(flag.default_text()) == flag.default
    if flag.type == "int":
        low, high = flag.allowed
        assert low <= flag.default <= high


@pytest.mark.parametrize("unset", [None, ""])
def test_unset_is_off_and_default(unset):
    got = flags.parse(unset, unset)
    assert got.enable_autofuse is False
    assert got.strict is False
    assert got.soc == "Ascend910B"
    assert got.to_dict() == {name: flag.default for name, flag in FLAGS.items()}


def test_explicit_false_is_off():
    assert flags.parse("--enable_autofuse=false", "").enable_autofuse is False


def test_each_type_is_read():
    got = flags.parse(
        "--enable_autofuse=true;--autofuse_enable_pass=reduce,concat;--max_fusion_size=0;"
        "--autofuse_enhance_precision_blacklist=Exp,Log;--recomputation_threshold=255",
        "--codegen_compile_debug=true;--debug_dir=/data/my dumps;--autofuse_att_algorithm=HighPerf",
    )
    assert got.enable_autofuse is True
    assert got.autofuse_enable_pass == ("reduce", "concat")
    assert got.max_fusion_size == 0
    assert got.recomputation_threshold == 255
    assert got.autofuse_enhance_precision_blacklist == ("Exp", "Log")
    assert got.codegen_compile_debug is True
    assert got.debug_dir == "/data/my dumps"
    assert got.autofuse_att_algorithm == "HighPerf"


def test_value_may_hold_equals_signs():
    assert flags.parse("", "--debug_dir=/a=b").debug_dir == "/a=b"


def test_one_closing_separator_is_fine():
    assert flags.parse("--enable_autofuse=true;", "").enable_autofuse is True


@pytest.mark.parametrize("text", ["replace_kernel=autofuse_.*", "--replace_kernel=autofuse_.*"])
def test_replace_kernel_needs_no_dashes(text):
    assert flags.parse("", text).replace_kernel == "autofuse_.*"


def test_same_value_twice_is_fine():
    assert flags.parse("--strict=true;--strict=true", "").strict is True


@pytest.mark.parametrize(
    "text, hint",
    [
        ("--enable_autofuse=True", "--enable_autofuse=true"),
        ("--enable_autofuse=treu", "--enable_autofuse=true"),
        ("--enable_autofuse=1", "--enable_autofuse=true"),
        ("--enable_autofuse=off", "--enable_autofuse=false"),
        ("--enable_autofuse= true", "--enable_autofuse=true"),
        ("--enable_autofuse =true", "--enable_autofuse=true"),
        ("--enable_autofuse = True", "--enable_autofuse=true"),
        (" --enable_autofuse=true", "--enable_autofuse=true"),
        ("--enable_autofuse=true ", "--enable_autofuse=true"),
        ("--strict=true; --enable_autofuse=true", "--enable_autofuse=true"),
        ("--enable_autofuse=true\n", "--enable_autofuse=true"),
        ("enable_autofuse=true", "--enable_autofuse=true"),
        ("-enable_autofuse=true", "--enable_autofuse=true"),
        ("---enable_autofuse=true", "--enable_autofuse=true"),
        ('"--enable_autofuse=true"', "--enable_autofuse=true"),
        ("--enable-autofuse=true", "--enable_autofuse=true"),
        ("--Enable_Autofuse=true", "--enable_autofuse=true"),
        ("--enabel_autofuse=treu", "--enable_autofuse=true"),
        ("--autofuse_enable_pass=Reduce", "--autofuse_enable_pass=reduce"),
        ("--autofuse_enable_pass=reduce, concat", "--autofuse_enable_pass=reduce,concat"),
        ("--autofuse_enable_pass=reduse,conact", "--autofuse_enable_pass=reduce,concat"),
        (
            "--autofuse_enhance_precision_blacklist=Exp Log",
            "--autofuse_enhance_precision_blacklist=Exp,Log",
        ),
        ("--max_fusion_size=6 4", "--max_fusion_size=64"),
        ("--enable_autofuse=true --strict=true", "--enable_autofuse=true;--strict=true"),
        ("--enable_autofuse=true,--strict=true", "--enable_autofuse=true;--strict=true"),
        ("--soc=Ascend910B --strict=true", "--soc=Ascend910B;--strict=true"),
    ],
)
def test_wrong_spelling_gets_the_nearest_right_one(text, hint):
    message = refused(text)
    assert message.startswith("[flags] AUTOFUSE_FLAGS: ")
    assert message.endswith("; did you mean {}?".format(hint))
    assert "allowed" in message
    flags.parse(hint, "")


@pytest.mark.parametrize(
    "text, parts",
    [
        ("--enable_autofuse=maybe", ["'maybe'", "--enable_autofuse", "true, false"]),
        ("--enable_autofuse", ["--enable_autofuse", "no value", "true, false"]),
        ("--enable_autofuse=", ["--enable_autofuse", "empty value", "true, false"]),
        ("--autofuse_enable_pass=", ["--autofuse_enable_pass", "empty value", "reduce"]),
        ("--autofuse_enable_pass=pool", ["'pool'", "reduce, concat"]),
        ("--autofuse_enable_pass=reduce,", ["'reduce,'", "reduce, concat"]),
        ("--recomputation_threshold=256", ["'256'", "from 0 to 255"]),
        ("--recomputation_threshold=-1", ["'-1'", "from 0 to 255"]),
        ("--max_fusion_size=64.0", ["'64.0'", "whole number"]),
        ("--max_fusion_size=0x40", ["'0x40'", "whole number"]),
        ("--max_fusion_size=\u0663", ["whole number"]),
        ("--color=red", ["'--color=red'", "allowed keys", "enable_autofuse", "soc"]),
        ("--strict=true;;--soc=Ascend910B", ["empty flag", "';'"]),
        (";", ["empty flag"]),
        (" ", ["empty flag"]),
        ("--", ["unknown key"]),
        ("--=true", ["unknown key"]),
        ("=", ["no leading '--'"]),
        ("true", ["no leading '--'"]),
    ],
)
def test_refusal_names_key_value_and_allowed(text, parts):
    message = refused(text)
    for part in parts:
        assert part in message


def test_two_values_for_one_key():
    message = refused("--strict=true;--strict=false")
    assert "--strict is given twice, as true and as false" in message


def test_key_of_the_other_variable():
    assert "is a key of AUTOFUSE_DFX_FLAGS" in refused("--debug_dir=/x")
    message = refused(dfx="--enable_autofuse=true")
    assert "AUTOFUSE_DFX_FLAGS: " in message
    assert "is a key of AUTOFUSE_FLAGS" in message
    assert refused("--debug_dri=/x").endswith("--debug_dir=/x in AUTOFUSE_DFX_FLAGS?")


def test_contradiction_between_two_keys():
    message = refused("--autofuse_enable_pass=reduce;--autofuse_disable_pass=concat,reduce")
    assert "reduce is both in" in message


def test_dfx_errors_name_their_variable():
    message = refused(dfx="--att_ub_threshold=101")
    assert "AUTOFUSE_DFX_FLAGS" in message
    assert "from 0 to 100" in message


def test_flag_error_is_an_autofuse_error():
    with pytest.raises(AutofuseError) as caught:
        flags.parse("--strict=x", "")
    assert caught.value.node == MAIN
    assert caught.value.stage == "flags"


def test_current_follows_the_environment(monkeypatch):
    assert flags.current().enable_autofuse is False
    monkeypatch.setenv(MAIN, "--enable_autofuse=true")
    assert flags.current().enable_autofuse is True
    assert flags.current() is flags.current()
    monkeypatch.setenv(MAIN, "--enable_autofuse=True")
    with pytest.raises(FlagError):
        flags.current()
    monkeypatch.delenv(MAIN)
    assert flags.current().enable_autofuse is False


def test_overrides_win_and_can_be_removed(monkeypatch):
    monkeypatch.setenv(MAIN, "--enable_autofuse=false;--max_fusion_size=8")
    flags.set_overrides({"enable_autofuse": True, "debug_dir": "/x", "max_fusion_size": 9})
    assert flags.current().enable_autofuse is True
    assert flags.current().debug_dir == "/x"
    assert flags.current().max_fusion_size == 9
    flags.set_overrides("--strict=true;--debug_dir=/y")
    assert flags.current().enable_autofuse is False
    assert flags.current().strict is True
    assert flags.current().debug_dir == "/y"
    flags.set_overrides(None)
    assert flags.current() == flags.parse("--enable_autofuse=false;--max_fusion_size=8", "")


@pytest.mark.parametrize(
    "wrong",
    [
        {"strict": "True"},
        {"strict": 1},
        {"max_fusion_size": 1.5},
        {"enabel": True},
        {"soc": None},
        {"autofuse_enable_pass": ["reduce", "x"]},
        "--strict",
        "strict=true",
    ],
)
def test_wrong_overrides_change_nothing(wrong):
    flags.set_overrides({"max_fusion_size": 9})
    with pytest.raises(FlagError):
        flags.set_overrides(wrong)
    assert flags.current().max_fusion_size == 9


def test_override_and_environment_may_not_contradict(monkeypatch):
    monkeypatch.setenv(MAIN, "--autofuse_disable_pass=reduce")
    flags.set_overrides({"autofuse_enable_pass": ["reduce"]})
    with pytest.raises(FlagError):
        flags.current()


def test_flags_are_read_only_and_comparable():
    got = flags.parse("--strict=true", "")
    with pytest.raises(AttributeError):
        got.strict = False
    with pytest.raises(AttributeError):
        got.no_such_flag  # noqa: B018
    assert got == flags.parse("--strict=true;", "")
    assert hash(got) == hash(flags.parse("--strict=true", ""))
    assert got != flags.parse("", "")
    assert repr(got) == "Flags(strict=True)"


def test_code_key_holds_what_changes_code():
    base = flags.parse("", "")
    assert base.code_key() == flags.parse("--strict=true", "--debug_dir=/x").code_key()
    for name, flag in FLAGS.items():
        assert (name + "=" in base.code_key()) == flag.affects_code


def test_soc_is_one_of_the_platforms():
    assert set(FLAGS["soc"].allowed) == set(PLATFORMS)
    assert refused("--soc=ascend910b").endswith("did you mean --soc=Ascend910B?")


def test_effective_means_read_somewhere():
    """A flag is documented as working exactly when some code asks for it."""
    text = ""
    folders = [os.path.join(ROOT, name) for name in ("tf_autofuse", "passes")]
    for where, _, names in itertools.chain.from_iterable(map(os.walk, folders)):
        for name in names:
            if name.endswith(".py") and not name.startswith("flag"):
                with open(os.path.join(where, name), encoding="utf-8") as file:
                    text += file.read()
    read = {name for name in FLAGS if re.search(r"(flags\.current\(\)|current)\.%s\b" % name, text)}
    assert read == {name for name, flag in FLAGS.items() if flag.effective}


def test_flags_page_equals_the_table():
    path = os.path.join(ROOT, "scripts", "gen_docs.py")
    spec = importlib.util.spec_from_file_location("gen_docs", path)
    gen_docs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gen_docs)
    assert gen_docs.stale_pages() == []
    page = gen_docs.flags_page()
    for name in FLAGS:
        assert "`--{}`".format(name) in page
