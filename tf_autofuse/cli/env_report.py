"""What to send along with a problem: versions, flags, dumps and bundles, without private data."""

from __future__ import annotations

import getpass
import glob
import json
import os
import platform
import re
import socket
from typing import Any, Dict, Iterable, List, Tuple

from tf_autofuse import paths
from tf_autofuse.runtime import cann

_PREFIXES = ("ASCEND_", "AUTOFUSE_", "DUMP_", "NPU_")
_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSW|CREDENTIAL)", re.IGNORECASE)
_VERSION_FILES = ("version.cfg", "version.info", "*/ascend_toolkit_install.info",
                  "ascend_toolkit_install.info")  # fmt: skip
_MOST_FILES = 500


def write(path: str, facts: Iterable[Tuple[str, str]]) -> None:
    """Write the report as JSON; `facts` are what ``tf-autofuse env`` prints.

    Home folders, the user's and the machine's name are replaced; of dumps only names and sizes are
    told, of variables only those of CANN and of this package. OSError when it cannot be written.
    """
    report = {
        "facts": dict(facts),
        "system": {"machine": platform.machine(), "system": platform.platform()},
        "variables": _variables(),
        "cann": _cann(),
        "dumps": _files(_dump_folders()),
        "bundles": _bundles(),
    }
    with open(path, "w", encoding="utf-8") as file:
        file.write(scrub(json.dumps(report, indent=2, sort_keys=True)) + "\n")


def scrub(text: str) -> str:
    """`text` without home folders, and without the names of the user and of the machine."""
    text = text.replace(os.path.expanduser("~"), "~")
    text = re.sub(r"/(home|Users)/[^/\"\s:;]+", "~", text)
    for name, mark in ((_user(), "<user>"), (socket.gethostname(), "<host>")):
        if len(name) > 2 and name != "root":
            text = re.sub(r"(?<![\w]){}(?![\w])".format(re.escape(name)), mark, text)
    return text


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # no entry for this user, as in some containers
        return ""


def _variables() -> Dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_PREFIXES) and not _SECRET.search(name)
    }


def _cann() -> Dict[str, Any]:
    home = os.environ.get("ASCEND_HOME_PATH", "")
    versions: Dict[str, List[str]] = {}
    for pattern in _VERSION_FILES if home else ():
        for path in glob.glob(os.path.join(home, pattern)):
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = [line.strip() for line in file if "ersion" in line]
            versions[os.path.relpath(path, home)] = lines[:20]
    return {
        "installed": cann.installed(),
        "custom_op_header": os.path.exists(os.path.join(home, "include/graph/custom_op.h")),
        "operators": cann.operators(),
        "versions": versions,
    }


def _dump_folders() -> List[str]:
    from tf_autofuse.ge.dump import dump_directory

    named = [os.environ.get(name, "") for name in ("DUMP_GRAPH_PATH", "NPU_COLLECT_PATH")]
    return sorted({folder for folder in named if folder} or {dump_directory()})


def _files(folders: Iterable[str]) -> List[Dict[str, Any]]:
    found = []
    for folder in folders:
        for where, _, names in os.walk(folder):
            for name in sorted(names):
                if name.startswith("ge_"):
                    size = os.path.getsize(os.path.join(where, name))
                    found.append({"name": name, "bytes": size})
    return found[:_MOST_FILES]


def _bundles() -> List[Dict[str, Any]]:
    from tf_autofuse import bundle

    found = []
    for folder in sorted(glob.glob(os.path.join(paths.cache_dir(), "bundles", "*"))):
        wrong = bundle.problems(folder)
        found.append({"key": os.path.basename(folder), "problems": wrong,
                      "binaries": sorted(os.listdir(os.path.join(folder, "bin")))
                      if os.path.isdir(os.path.join(folder, "bin")) else []})  # fmt: skip
    return found[:_MOST_FILES]
