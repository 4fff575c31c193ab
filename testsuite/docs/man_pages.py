#!/usr/bin/env python3
"""Has each function of <event2/smp.h> a manual page that man finds by its name?

usage: man_pages.py TREE NAME=PAGE...

NAME=PAGE: man finds the page by this name (man/meson.build). A page lists the names of its functions in NAME, and
shows in SYNOPSIS how the header declares them. Each reference to another page of this tree leads to one.
"""
import re
import sys
from pathlib import Path

FUNCTION = re.compile(r"^EVENT_SMP_EXPORT_\n([^;(]*?\b(\w+)\(.*?\));", re.MULTILINE | re.DOTALL)
OURS = re.compile(r"^\.Xr ((?:bufferevent_|ev|libasync-)\S*) (\d)", re.MULTILINE)


def squeeze(text):
    """Without white space that says nothing."""
    return re.sub(r"\s*([*(),])\s*", r"\1", " ".join(text.split()))


def prototypes(head):
    """The functions of a SYNOPSIS, as C declares them."""
    for kind, words in re.findall(r"^\.Ft (.*)\n\.F[no] (.*(?:\n\.Fa .*)*)", head, re.MULTILINE):
        name, *arguments = re.findall(r'"([^"]*)"|(\w+)', words.replace("\n.Fa", ""))
        arguments = ["".join(argument) for argument in arguments]
        yield "".join(name), f"{kind} {''.join(name)}({','.join(arguments)})"


def check(tree, pages):
    functions = {name: squeeze(text) for text, name in FUNCTION.findall(
        (tree / "compat/libevent/include/event2/smp.h").read_text())}
    if not functions:
        yield "smp.h: no functions"
    for name in sorted(set(functions) - set(pages)):
        yield f"{name} has no manual page"
    for name, page in pages.items():
        head = (tree / "man" / f"{page}.3").read_text().split(".Sh DESCRIPTION")[0]
        if not re.search(rf"^\.Nm {name}\b", head, re.MULTILINE):
            yield f"{page}.3 does not list {name} in NAME"
        shown = squeeze(dict(prototypes(head)).get(name, "nothing"))
        if name in functions and shown != functions[name]:
            yield f"{page}.3 shows {shown}, not {functions[name]}"
    for path in sorted((tree / "man").glob("*.[1-9]")):
        for name, section in OURS.findall(path.read_text()):
            if not (tree / "man" / f"{name}.{section}").exists() and (section != "3" or name not in pages):
                yield f"{path.name} refers to {name}({section}), which is not there"


def main():
    if len(sys.argv) < 3 or any("=" not in argument for argument in sys.argv[2:]):
        sys.exit(__doc__.strip())
    wrong = list(check(Path(sys.argv[1]), dict(argument.split("=") for argument in sys.argv[2:])))
    sys.exit("\n".join(wrong) if wrong else 0)


main()
