"""``tf-autofuse cache``: what is kept on disk, and whether it is whole.

Answers of the pass, one for each graph, lie among the kernels and are looked after like them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import time
from typing import Any, Dict, List

from tf_autofuse import paths
from tf_autofuse.cli import style
from tf_autofuse.report.units import byte_text

GOOD, DAMAGED = 0, 1

_ACTIONS = {
    "list": "kernels and graphs, the most recently used first",
    "size": "what kernels, graphs and bundles take",
    "clear": "remove all of it; it is made again when it is needed",
    "verify": "compare all that is kept with its digest; --repair removes what is damaged",
}
_EXAMPLES = """actions:
{}

examples:
  tf-autofuse cache list
  tf-autofuse cache verify --repair
  AUTOFUSE_CACHE_DIR=/data/cache tf-autofuse cache size --json

exit code: 0 done; 1 verify found damage (which is rebuilt at the next use); 2 bad input.""".format(
    "\n".join("  {:<8} {}".format(*item) for item in _ACTIONS.items())
)


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers of ``tf-autofuse``."""
    parser = commands.add_parser(
        "cache",
        help="list, measure, clear or check the kernel cache",
        description="Looks after the folder of built kernels, fused graphs and kernel bundles.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("action", choices=list(_ACTIONS), help="what to do")
    parser.add_argument("--repair", action="store_true", help="with verify: remove what is damaged")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.set_defaults(execute=execute)


def execute(options: argparse.Namespace) -> int:
    """Do it and print; the exit code of the module's text. OSError: no cache can be had."""
    from tf_autofuse.build.cache import KernelCache

    cache = KernelCache(os.path.join(paths.cache_dir(), "kernels"))
    result = {
        "list": _list,
        "size": _size,
        "clear": _clear,
        "verify": lambda found: _verify(found, options.repair),
    }[options.action](cache)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        for line in _lines(options.action, result):
            print(line)
    return DAMAGED if result.get("damaged") else GOOD


def _list(cache: Any) -> Dict[str, Any]:
    entries = [
        {"key": entry.key, "label": entry.label, "bytes": entry.size, "used": entry.used}
        for entry in reversed(cache.entries())
    ]
    return {"folder": cache.root, "entries": entries}


def _size(cache: Any) -> Dict[str, Any]:
    entries, bundles = cache.entries(), _bundle_folders()
    graphs = [entry.size for entry in entries if _is_graph(entry)]
    return {
        "folder": paths.cache_dir(),
        "kernels": len(entries) - len(graphs),
        "kernel_bytes": sum(entry.size for entry in entries) - sum(graphs),
        "graphs": len(graphs),
        "graph_bytes": sum(graphs),
        "limit_bytes": cache.limit_bytes,
        "bundles": len(bundles),
        "bundle_bytes": sum(_folder_bytes(folder) for folder in bundles),
    }


def _is_graph(entry: Any) -> bool:
    from tf_autofuse.build.cache import ANSWER

    return entry.label.startswith(ANSWER + " ")


def _clear(cache: Any) -> Dict[str, Any]:
    bundles = _bundle_folders()
    graphs = sum(map(_is_graph, cache.entries()))
    shutil.rmtree(os.path.join(paths.cache_dir(), "bundles"), ignore_errors=True)
    return {"folder": paths.cache_dir(), "kernels": cache.clear() - graphs, "graphs": graphs,
            "bundles": len(bundles)}


def _verify(cache: Any, repair: bool) -> Dict[str, Any]:
    damaged = []
    entries = [entry for entry in cache.entries() if entry.label != "failed"]
    for entry in entries:
        problem = cache.problem(entry.key)
        if problem:
            damaged.append({"key": entry.key, "problem": problem})
            if repair:
                cache.remove(entry.key)
    result = {"folder": cache.root, "checked": len(entries), "damaged": damaged}
    return dict(result, damaged=[], removed=damaged) if repair else result


def _bundle_folders() -> List[str]:
    shelf = os.path.join(paths.cache_dir(), "bundles")
    found = []
    for generator in sorted(os.listdir(shelf)) if os.path.isdir(shelf) else ():
        inside = os.path.join(shelf, generator)
        found += [os.path.join(inside, name) for name in os.listdir(inside)]
    return found


def _folder_bytes(folder: str) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        total += sum(os.lstat(os.path.join(where, name)).st_size for name in names)
    return total


def _lines(action: str, result: Dict[str, Any]) -> List[str]:
    if action == "list":
        rows = [("kernel or graph", "size", "last used")]
        for entry in result["entries"]:
            used = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry["used"]))
            name = "{} {}".format(entry["key"][:16], entry["label"])
            rows.append((name, byte_text(entry["bytes"]), used))
        return style.table(rows) + ["{} entries in {}".format(len(rows) - 1, result["folder"])]
    if action == "size":
        text = "{} kernels {} and {} graphs {} of at most {}, {} bundles {}, in {}"
        return [text.format(
            result["kernels"], byte_text(result["kernel_bytes"]),
            result["graphs"], byte_text(result["graph_bytes"]),
            byte_text(result["limit_bytes"]), result["bundles"],
            byte_text(result["bundle_bytes"]), result["folder"],
        )]  # fmt: skip
    if action == "clear":
        text = "removed {kernels} kernels, {graphs} graphs and {bundles} bundles from {folder}"
        return [text.format(**result)]
    lines = [
        style.paint("damaged {key}: {problem}".format(**entry), "red")
        for entry in result["damaged"] + result.get("removed", [])
    ]
    removed = len(result.get("removed", ()))
    text = "{} entries checked, {} damaged{}".format(
        result["checked"], len(lines), ", {} removed".format(removed) if removed else ""
    )
    return lines + [text]
