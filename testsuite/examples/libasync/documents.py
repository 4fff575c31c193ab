#!/usr/bin/env python3
"""Is the code in documents right?

usage: documents.py FOLDER-OF-EXAMPLES DOCUMENT... -- COMPILER ARG...

Code is what stands between ```c++ or ```diff and ``` in a .md file, and what stands between .Bd -literal and .Ed in a
manual page and has a semicolon. Code that includes a header is compiled, alone and without warnings. Other code is an
excerpt: its lines stand in one of the examples; or, in a manual page, it compiles with the page's headers (.In),
by itself or in a function. What a colored.patch adds is an example too. A block ```diff A B shows lines of A that became lines of B.
"""
import re
import subprocess
import sys
from pathlib import Path


def blocks(path):
    """The kind (the words after ``` in a .md file) and the lines of each piece of code, and where it begins."""
    is_manual = path.suffix != ".md"
    kind, lines, begin = None, [], 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if kind is None:
            match = re.match(r"\.Bd -literal" if is_manual else r"```((?:c\+\+|diff).*)$", line)
            if match:
                kind, lines, begin = ["manual"] if is_manual else match[1].split(), [], number
        elif line == (".Ed" if is_manual else "```"):
            if not is_manual or ";" in "".join(lines):
                yield kind, lines, f"{path.name}:{begin}"
            kind = None
        else:
            lines.append(line.replace("\\e", "\\").replace("\\-", "-").replace("\\&", "") if is_manual else line)


def squeeze(lines):
    return [" ".join(line.split()) for line in lines if line.strip()]


def has(text, excerpt):
    return any(text[i : i + len(excerpt)] == excerpt for i in range(len(text)))


def compiles(compiler, lines):
    done = subprocess.run([*compiler, "-x", "c++", "-"], input="\n".join(lines) + "\n", text=True)
    return done.returncode == 0


def compiles_in_page(compiler, lines, page):
    headers = re.findall(r"^\.In (\S+)", page.read_text(), re.MULTILINE)
    includes = [f"#include <{header}>" for header in ["async.h", *headers]]
    if any(line.startswith("}") for line in lines) and any(line.startswith("{") for line in lines):
        return compiles(compiler, [*includes, *lines])
    return compiles([*compiler, "-Wno-unused"], [*includes, "void excerpt(); void excerpt() {", *lines, "}"])


def main():
    if "--" not in sys.argv[3:]:
        sys.exit(__doc__.strip())
    split = sys.argv.index("--")
    folder, documents, compiler = Path(sys.argv[1]), sys.argv[2:split], sys.argv[split + 1 :]
    examples = {path.name: squeeze(path.read_text().splitlines()) for path in folder.glob("*.cc")}
    for path in folder.glob("*/colored.patch"):
        examples[str(path)] = squeeze(line[1:] for line in path.read_text().splitlines() if line.startswith("+"))
    checked, wrong = 0, []
    for document in documents:
        found = 0
        for kind, lines, place in blocks(Path(document)):
            if kind[0] == "diff":
                right = all(
                    has(examples[name], squeeze(line[1:] for line in lines if line[0] == sign))
                    for name, sign in zip(kind[1:], "-+", strict=True)
                )
            elif any(line.lstrip().startswith("#include") for line in lines):
                right = compiles(compiler, lines)
            else:
                right = any(has(text, squeeze(lines)) for text in examples.values())
                if not right and kind == ["manual"]:
                    right = compiles_in_page(compiler, lines, Path(document))
            found += 1
            if not right:
                wrong.append(place)
        if not found:
            wrong.append(f"{document}: no code")
        checked += found
    print(f"{checked} pieces of code")
    sys.exit("\n".join(["wrong:", *wrong]) if wrong else 0)


main()
