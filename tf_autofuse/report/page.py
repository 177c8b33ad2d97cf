"""The report as one HTML page that needs nothing else: no network, no files beside it.

Everything that comes from a model is escaped by the template, or sits in a JSON block in which
`<`, `>` and `&` are written as escapes and from which the script takes plain text only. A content
security policy lets the page run its own script and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence

from tf_autofuse.errors import AutofuseError
from tf_autofuse.report.document import (
    Content,
    grouped,
    meaning,
    page_data,
    problems,
    shown_pairs,
)
from tf_autofuse.report.units import byte_text, count_text, time_text

_ASSETS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "assets")
_SCRIPTS = ("graph.js", "page.js")
_BARS = 12


def render_page(content: Content, title: str, subtitle: str, footer: str = "") -> str:
    """The page as text. AutofuseError when jinja2 is not installed."""
    try:
        import jinja2
    except ImportError:
        raise AutofuseError("the HTML report needs jinja2: pip install jinja2") from None
    script = "".join(_asset(name) for name in _SCRIPTS)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_ASSETS), autoescape=True, undefined=jinja2.StrictUndefined
    )
    kernels = [_row(kernel) for kernel in content.kernels]
    return environment.get_template("page.html.j2").render(
        title=title,
        subtitle=subtitle,
        footer=footer,
        script=script,
        script_hash=_csp_hash(script),
        style=_asset("page.css"),
        data=_inline_json(page_data(content)),
        warnings=problems(content),
        cards=_cards(content),
        bars=_bars(content),
        bars_note=_bars_note(content),
        graphs=[_graph_title(pair) for pair in shown_pairs(content.pairs)],
        kernels=kernels,
        groups=[
            {"code": code, "count": len(entries), "meaning": meaning(code)}
            for code, entries in grouped(content.unfused)
        ],
        unfused_count=len(content.unfused),
        unfused_note="",
    )


def _asset(name: str) -> str:
    with open(os.path.join(_ASSETS, name), encoding="utf-8") as file:
        return file.read()


def _csp_hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _inline_json(data: Any) -> str:
    """JSON that no HTML parser takes for markup."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    for mark in "<>&":
        text = text.replace(mark, "\\u{:04x}".format(ord(mark)))
    return text


def _graph_title(pair: Any) -> str:
    return "{} - {} operators, {} fused".format(
        pair.name, len(pair.before.nodes), len(pair.members)
    )


def _row(kernel: Mapping[str, Any]) -> Dict[str, Any]:
    before, after = kernel["gm_bytes_unfused"], kernel["gm_bytes"]
    known = before is not None and after is not None
    calls = kernel["calls"]
    nanos = kernel["nanos"] / calls if calls and kernel["nanos"] else None
    share = 100.0 * (before - after) / before if known and before else 0.0
    return {
        "name": kernel["name"],
        "operators": len(kernel["op_names"]),
        "calls": calls,
        "before": _cell(before, byte_text),
        "after": _cell(after, byte_text),
        "saved": _cell(share if known else None, "{:.0f}%".format),
        "time": _cell(nanos, time_text),
    }


def _cell(value: Optional[float], show: Any) -> Dict[str, Any]:
    return {"value": -1 if value is None else value, "text": "?" if value is None else show(value)}


class _Totals:
    """Bytes and launches of all calls; of one call each when nothing ran."""

    def __init__(self, kernels: Sequence[Mapping[str, Any]]) -> None:
        self.ran = any(kernel["calls"] for kernel in kernels)
        self.before = self.after = self.launches = self.operators = self.nanos = 0
        for kernel in kernels:
            times = kernel["calls"] if self.ran else 1
            if kernel["gm_bytes"] is not None and kernel["gm_bytes_unfused"] is not None:
                self.before += times * kernel["gm_bytes_unfused"]
                self.after += times * kernel["gm_bytes"]
            self.launches += times
            self.operators += times * len(kernel["op_names"])
            self.nanos += kernel["nanos"]


def _cards(content: Content) -> List[Dict[str, str]]:
    totals = _Totals(content.kernels)
    inside = sum(len(kernel["op_names"]) for kernel in content.kernels)
    saved = totals.before - totals.after
    note = "{:.0f}% less".format(100.0 * saved / totals.before) if totals.before else ""
    cards = [
        {"name": "kernels", "value": count_text(len(content.kernels)), "note": ""},
        {"name": "operators fused", "value": count_text(inside), "note": ""},
        {"name": "operators left alone", "value": count_text(len(content.unfused)), "note": ""},
        {"name": "memory traffic saved", "value": byte_text(saved), "note": note},
    ]
    if totals.ran:
        cards.append({"name": "kernel calls", "value": count_text(totals.launches), "note": ""})
        time = time_text(totals.nanos) if totals.nanos else "?"
        cards.append({"name": "time in kernels", "value": time, "note": ""})
    return cards


def _bars(content: Content) -> List[Dict[str, Any]]:
    totals = _Totals(content.kernels)
    bars = [
        _bar("Operators launched", totals.operators, totals.launches, totals.operators, count_text),
        _bar("Memory traffic", totals.before, totals.after, totals.before, byte_text),
    ]
    sized = [
        (kernel["name"], times * kernel["gm_bytes_unfused"], times * kernel["gm_bytes"])
        for kernel in content.kernels
        for times in (kernel["calls"] if totals.ran else 1,)
        if kernel["gm_bytes"] is not None and kernel["gm_bytes_unfused"] is not None and times
    ]
    sized.sort(key=lambda item: -item[1])
    most = max([item[1] for item in sized] + [1])
    bars += [_bar(name, before, after, most, byte_text) for name, before, after in sized[:_BARS]]
    return bars if content.kernels else []


def _bars_note(content: Content) -> str:
    ran = _Totals(content.kernels).ran
    over = "over all calls" if ran else "for one call of each kernel"
    return " - {}; the {} kernels that move most".format(over, _BARS)


def _bar(name: str, before: float, after: float, most: float, show: Any) -> Dict[str, Any]:
    most = max(most, after, 1)
    return {
        "name": name,
        "before": show(before),
        "after": show(after),
        "before_share": round(100.0 * before / most, 2),
        "after_share": round(100.0 * after / most, 2),
    }
