# SPDX-License-Identifier: GPL-2.0
"""A bar chart of the table as SVG: packets that the host touched, per row."""

from xml.sax.saxutils import escape

_LEFT, _WIDTH, _BAR, _GAP = 190, 460, 14, 14
_COLORS = {"packets_sent": "#2b6cb0", "packets_received": "#dd6b20"}
_NAMES = {"packets_sent": "packets sent", "packets_received": "packets received"}


def _text(x, y, text, anchor="start", size=12):
    return (f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" '
            f'font-family="sans-serif">{escape(text)}</text>')


def _row(row, y, most):
    parts = [_text(_LEFT - 8, y + _BAR + 4, f"{row['protocol']} {row['offload']}", "end")]
    for i, key in enumerate(_COLORS):
        width = max(1, round(row[key] / most * _WIDTH))
        top = y + i * _BAR
        parts.append(f'<rect x="{_LEFT}" y="{top}" width="{width}" '
                     f'height="{_BAR - 2}" fill="{_COLORS[key]}"/>')
        parts.append(_text(_LEFT + width + 6, top + _BAR - 4, f"{row[key]:,}", size=10))
    return parts


def write(path, rows, title):
    """Draw rows (with packet counts per GiB) into path."""
    most = max([r[k] for r in rows for k in _COLORS] + [1])
    height = 70 + len(rows) * (2 * _BAR + _GAP)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + 90}" '
             f'height="{height}">',
             '<rect width="100%" height="100%" fill="white"/>',
             _text(10, 22, title, size=15)]
    for i, key in enumerate(_COLORS):
        x = _LEFT + i * 150
        parts.append(f'<rect x="{x}" y="36" width="10" height="10" fill="{_COLORS[key]}"/>')
        parts.append(_text(x + 15, 45, f"{_NAMES[key]} per GiB", size=11))
    for i, row in enumerate(rows):
        parts += _row(row, 60 + i * (2 * _BAR + _GAP), most)
    parts.append("</svg>")
    with open(path, "w", encoding="ascii") as out:
        out.write("\n".join(parts) + "\n")
