#!/usr/bin/env python3
"""Does check.py find what is wrong in a document?

usage: test_check.py ARGUMENT-OF-CHECK...
"""
import subprocess
import sys
import tempfile
from pathlib import Path

CHECK = Path(__file__).resolve().parent / "check.py"
FENCE = "```"

# A document, and what check.py must say about it; None: nothing.
DOCUMENTS = {
    "fails.md": ("Text:\n\n\tfalse\n", "fails.md:3: status 1"),
    "pipe.md": (f"{FENCE}\nfalse | true\n{FENCE}\n", "pipe.md:1: status 1"),
    "reason.md": ("<!-- docs: not run: -->\n\n\tfalse\n", "without a reason"),
    "mark.md": ("<!-- docs: never -->\n\n\tfalse\n", "no such mark: never"),
    "lost.md": ("\ttrue\n\n<!-- docs: server -->\nText.\n", "a mark without a block: server"),
    "list.md": ("* item:\n\n\tfalse\n", "indented code in a list"),
    "open.md": (f"{FENCE}c\nint x;\n", "code without an end"),
    "word.md": (f"{FENCE}perl\n1;\n{FENCE}\n", "what is perl?"),
    "told.md": (f"{FENCE}ini\na=b\n{FENCE}\n", "needs a mark"),
    "warns.md": (f"{FENCE}c\nint main(void)\n{{\n\tint unused;\n}}\n{FENCE}\n", "does not compile"),
    "unknown.md": (f"{FENCE}c\nevent_set_hue(ev, 1);\n{FENCE}\n", "does not compile"),
    "links.md": (f"{FENCE}c\nint no_such(void);\n\nint main(void)\n{{\n\treturn no_such();\n}}\n{FENCE}\n", "undefined reference"),
    "patch.md": (f"{FENCE}diff\n-nobody wrote this\n{FENCE}\n", "has these lines"),
    "output.md": ("\techo yes\n\n<!-- docs: output -->\n\tno\n", "the output was"),
    "silent.md": ("<!-- docs: server -->\n\ttrue\n", "listens on no port"),
    "rows.md": ("<!-- docs: rows fails.md -->\n| a |\n| --- |\n| b |\n", "not in fails.md: | b |"),
    "nowhere.md": ("[text](gone.md)\n", "links to gone.md"),
    "heading.md": ("# One\n\n[text](#two)\n", "#two, which is no heading"),
    "page.3": (".Bd -literal\nevent_set_hue(ev, 1);\n.Ed\n", "page.3:1: does not compile"),
    "line.1": (".Dl false\n", "line.1:1: status 1"),
    "right.md": (f"""# Right

<!-- docs: file hello.c -->
{FENCE}c
#include <event2/smp.h>

int main(void)
{{
	return event_base_get_workers(NULL) != 0;
}}
{FENCE}

	cc -o hello hello.c $(pkg-config --cflags --libs libevent-smp)
	./hello && echo it works

<!-- docs: output -->
	it works

<!-- docs: c: struct event *ev; -->
{FENCE}c
event_set_color(ev, 1);
{FENCE}

[text](#right)

<!-- docs: needs no-such-command -->

	no-such-command
""", None),
    "right.3": ('.\\" docs: c: int cost;\n.Bd -literal\nif (event_color_set_cost(NULL, 1, cost) < 0)\n\texit(1);\n.Ed\n', None),
}


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as place:
        paths = [Path(place) / name for name in DOCUMENTS]
        for path, (text, _) in zip(paths, DOCUMENTS.values()):
            path.write_text(text)
        done = subprocess.run([sys.executable, CHECK, *sys.argv[1:], *paths], capture_output=True, text=True)
    reports = {}
    for line in done.stderr.splitlines():
        name = line.split(":")[0]
        last = name if name in DOCUMENTS else last if reports else None
        if last:
            reports[last] = reports.get(last, "") + line + "\n"
    for name, (_, want) in DOCUMENTS.items():
        got = reports.get(name, "")
        if (got != "" if want is None else want not in got):
            wrong.append(f"{name}: {got or 'nothing'}, not {want or 'nothing'}")
    if done.returncode != 1:
        wrong.append(f"status {done.returncode}:\n{done.stdout}{done.stderr}")
    sys.exit("\n".join(wrong) if wrong else 0)


main()
