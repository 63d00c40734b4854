# SPDX-License-Identifier: GPL-2.0
"""The results as JSON for programs and as one HTML page for people."""

import html
import json
import os
import time

from checks import AREAS

WORDS = {"pass": "passed", "fail": "failed", "not_announced": "not announced"}
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em;
       color: #222; background: #fff }
h1 { font-size: 1.6em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .3em .6em;
       border-bottom: 1px solid #ddd; vertical-align: top }
.pass { color: #14692f } .fail { color: #a3141f; font-weight: 600 } .not_announced { color: #666 }
.verdict { font-size: 1.2em; padding: .8em 1em; border-left: .4em solid; background: #f6f6f6 }
code { font-size: .9em } .why { color: #a3141f } small { color: #555 }
"""


def summary(results):
    """Counts by outcome."""
    return {w: sum(1 for r in results if r["result"] == w) for w in WORDS}


def verdict(s):
    """One sentence."""
    if s["fail"]:
        return f"The device fails {s['fail']} of {s['pass'] + s['fail']} checks."
    if not s["pass"]:
        return "The device announces no QUIC offload. Nothing was tested but the way there."
    text = f"The device does all that it announces: {s['pass']} checks passed."
    if s["not_announced"]:
        text += f" {s['not_announced']} do not apply, because it does not announce what they test."
    return text


def write_json(path, results, about):
    """build/results/conformance.json"""
    data = {"conditions": about, "summary": summary(results), "checks": results}
    with open(path, "w", encoding="utf-8") as f:
        json.dump(data, f, indent=1)
        f.write("\n")


def row(r):
    """A line of the table."""
    why = f"<div class=why>{html.escape(r['why'])}</div>" if r["result"] == "fail" else ""
    return (f"<tr><td class={r['result']}>{WORDS[r['result']]}</td><td>{html.escape(r['text'])}"
            f"{why}</td><td><code>{r['name']}</code></td></tr>")


def write_html(path, results, about):
    """One file, no other needed."""
    s = summary(results)
    kind = "fail" if s["fail"] else "pass" if s["pass"] else "not_announced"
    out = ["<!doctype html><html lang=en><meta charset=utf-8>",
           "<meta name=viewport content='width=device-width'>",
           f"<title>QUIC offload: {html.escape(about['driver'])}</title><style>{STYLE}</style>",
           "<h1>QUIC offload: does the device do what it says?</h1>",
           f"<p class='verdict {kind}'>{html.escape(verdict(s))}</p><table>"]
    for key, value in about.items():
        out.append(f"<tr><th>{html.escape(key.replace('_', ' '))}</th>"
                   f"<td>{html.escape(str(value))}</td></tr>")
    out.append("</table><table><tr><th>Area<th>Passed<th>Failed<th>Not announced</tr>")
    for area, text in AREAS.items():
        part = summary([r for r in results if r["area"] == area])
        out.append(f"<tr><td><a href='#{area}'>{text}</a></td>" + "".join(
            f"<td class={w if part[w] else ''}>{part[w]}</td>" for w in WORDS) + "</tr>")
    out.append("</table>")
    for area, text in AREAS.items():
        rows = [row(r) for r in results if r["area"] == area]
        if rows:
            out.append(f"<h2 id={area}>{text}</h2><table>{''.join(rows)}</table>")
    out.append("<p><small>Bytes are compared with what OpenSSL makes of the same packets, on the "
               "wire of the receiving port. A check that is &ldquo;not announced&rdquo; is about "
               "an ability that the driver does not claim; the work is done in software then.</small>")
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(out) + "\n")


def write(folder, results, about):
    """Both files."""
    os.makedirs(folder, exist_ok=True)
    about = dict(about, date=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()))
    write_json(os.path.join(folder, "conformance.json"), results, about)
    write_html(os.path.join(folder, "conformance.html"), results, about)
