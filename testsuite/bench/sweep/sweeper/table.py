# Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
"""The tables."""

_HEAD = ("pattern", "mode", "metric", "stock", "ours", "ratio")
_MEMORY_HEAD = (
    "object", "mode", "count",
    "heap B each, stock", "ours", "RSS B each, stock", "ours",
    "heap KB after release, stock", "ours", "RSS KB after release, stock", "ours",
    "RSS KB at rest, stock", "ours",
)  # fmt: skip


def _markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, cells)) + " |" for cells in lines)


def _tabs(head, rows):
    return "\n".join("\t".join(map(str, cells)) for cells in (head, *rows))


def text(rows, above, is_tsv):
    chosen = [row for row in rows if above is None or row.ratio > above]
    chosen.sort(key=lambda row: (row.metric, -row.ratio, row.pattern, row.mode))
    if is_tsv:
        return _tabs(_HEAD, [(r.pattern, r.mode, r.metric, r.stock, r.ours, r.ratio) for r in chosen])
    cells = [
        (r.pattern, r.mode, r.metric, f"{r.stock:.1f}", f"{r.ours:.1f}", f"{r.ratio:.3f}") for r in chosen
    ]
    return _markdown(_HEAD, cells) + f"\n\n{len(chosen)} of {len(rows)} rows."


def memory(machine, globs, modes):
    """The rows, and a line for each that is not there because it could not be measured."""
    rows, failures = [], []
    for mode in modes:
        if mode == "colors":
            continue
        (stock, ours), failed = machine.memory(mode, globs)
        failures += failed
        rows += [((key[0], mode, key[1]), zip(stock[key], ours[key])) for key in stock if key in ours]
    return rows, failures


def memory_text(rows, is_tsv):
    cells = []
    for names, figures in rows:
        row = [*names]
        for i, (left, right) in enumerate(figures):
            unit = 1 if i < 2 or is_tsv else 1024
            row += [left // unit, right // unit]
        cells.append(row)
    return (_tabs if is_tsv else _markdown)(_MEMORY_HEAD, cells)
