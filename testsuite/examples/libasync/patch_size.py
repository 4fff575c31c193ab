#!/usr/bin/env python3
"""How much of a program does its patch change, and how many of its callbacks does it color?

usage: patch_size.py MOST-PERCENT DOCUMENT[,DOCUMENT] PATCH FILE...

Fails if the patch changes a larger share of the lines, or if a document has other figures: all tell the lines, the
first the callbacks, too. A changed line counts once.
"""
import re
import sys
from pathlib import Path


def changed(patch):
    """In a run of lines that go and lines that come, one line that goes and one that comes are a change."""
    total = gone = new = 0
    for line in [*patch.splitlines(), " "]:
        if re.match(r"(---|\+\+\+) [ab]/", line):
            continue
        if line.startswith("-"):
            gone += 1
        elif line.startswith("+"):
            new += 1
        else:
            total += max(gone, new)
            gone = new = 0
    return total


def expect(document, figure):
    if not re.search(figure, " ".join(Path(document).read_text().split())):
        sys.exit(f"{document} lacks: {figure}")


def main():
    most, documents, patch, *files = sys.argv[1:]
    text = Path(patch).read_text()
    sources = [Path(file).read_text() for file in files]
    lines = sum(source.count("\n") for source in sources)
    callbacks = sum(len(re.findall(r"\bwrap\(", source)) for source in sources)
    minus = "\n".join(line for line in text.splitlines() if line.startswith("-"))
    plus = "\n".join(line for line in text.splitlines() if line.startswith("+"))
    new = len(re.findall(r"\bc?wrap\(", plus)) - len(re.findall(r"\bwrap\(", minus))
    colored = len(re.findall(r"\bcwrap\(", plus))
    print(f"{changed(text)} of {lines} lines changed; {colored} of {callbacks + new} callbacks have a color,"
          f" {new} of them are new")
    for document in documents.split(","):
        expect(document, rf"{changed(text)} of (its )?{lines} lines")
    expect(documents.split(",")[0], rf"{colored} of (the )?{callbacks + new} callbacks")
    if changed(text) * 100 > lines * float(most):
        sys.exit(f"that is more than {most} %")


main()
