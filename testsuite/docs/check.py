#!/usr/bin/env python3
"""Is the code in documents right? README.md says what the marks of documents mean.

usage: check.py --source TREE --build BUILD --prefix PREFIX [--without WHAT]... DOCUMENT...

Commands are run. A C program is compiled and linked. Other C code, and a diff, is an excerpt: its lines stand in a file
of testsuite/examples/; or, the code compiles, at file scope or in a function. --without libasync, for instance: blocks
that are marked as needing it are left out, as those are that need a command which is not here.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

from blocks import Bad, blocks, name_of
from sandbox import Sandbox, enter_network

WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]
FILE_SCOPE = re.compile(r"^(\{|typedef |static |extern |struct \w+ \{|enum \w+ \{)", re.MULTILINE)
HEADERS = ["errno.h", "stdio.h", "stdlib.h", "string.h", "unistd.h", "sys/socket.h", "event2/event.h", "event2/buffer.h",
           "event2/bufferevent.h", "event2/dns.h", "event2/http.h", "event2/listener.h", "event2/util.h", "event2/smp.h"]
CXX = "C++ code, which testsuite/examples/libasync/documents.py checks"
TOLD = ("ini", "nginx", "text")         # what nobody can run: it needs a mark
LINK = re.compile(r"!?\[[^]]*\]\(([^)#\s]*)(?:#([^)\s]*))?\)")


def squeeze(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def has_lines(lines, excerpt):
    return any(lines[i : i + len(excerpt)] == excerpt for i in range(len(lines)))


def slug(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower().replace("`", "")).strip().replace(" ", "-")


class Checker:
    def __init__(self, args, sandbox):
        self.source, self.sandbox, self.without = Path(args.source), sandbox, args.without
        self.examples = [squeeze(path.read_text()) for path in (self.source / "testsuite/examples").rglob("*.*")
                         if path.suffix in (".c", ".h", ".patch")]
        self.output = ""
        self.counts = {}

    def document(self, path):
        """Errors of a document."""
        self.place = self.sandbox.folder(path.name)
        self.path, self.output = path, ""
        wrong = []
        try:
            for block in blocks(path):
                error = self.block(block)
                if error:
                    wrong.append(f"{block.place}: {error}")
        except Bad as error:
            wrong.append(str(error))
        self.sandbox.stop_servers()
        return wrong + (list(self.links(path)) if path.suffix == ".md" else [])

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def block(self, block):
        marks = block.marks
        if "not run" in marks:
            self.count("not run, with the reason")
            return None if len(marks["not run"]) > 3 else "not run, without a reason"
        lack = [name for name in marks.get("needs", "").split() if name in self.without or not self.has(name)]
        if lack:
            self.count(f"left out without {lack[0]}")
            return None
        if "file" in marks:
            self.write(self.place / marks["file"], block.text)
            self.count("files")
            return self.program(block.text) if block.kind == "c" and "int main(" in block.text else None
        if "output" in marks:
            self.count("outputs")
            return None if has_lines(squeeze(self.output), squeeze(block.text)) else f"the output was:\n{self.output}"
        if "rows" in marks:
            self.count("tables")
            lines = (self.path.parent / marks["rows"]).read_text().splitlines()
            lack = [row for row in block.lines[2:] if row not in lines]
            return f"not in {marks['rows']}: {lack[0]}" if lack else None
        return self.code(block)

    def write(self, path, text):
        if path.is_symlink():
            path.unlink()       # the tree's own file stays as it is
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def has(self, name):
        return name == "libasync" or self.sandbox.has(name)

    def code(self, block):
        kind = block.kind.split()[0]
        if kind == "c":
            if block.place.startswith("libasync-"):
                self.count(CXX)
                return None
            self.count("C code")
            return self.c_code(block)
        if kind == "diff" and block.kind != "diff" or kind == "c++":
            self.count(CXX)
            return None
        if kind == "diff":
            self.count("diffs")
            return None if self.is_excerpt(block) else "no patch of testsuite/examples/ has these lines"
        if kind == "sh":
            self.count("commands")
            return self.commands(block)
        return f"{kind}: needs a mark" if kind in TOLD else f"what is {kind}?"

    # ------------------------------------------------------------ C

    def is_excerpt(self, block):
        return any(has_lines(lines, squeeze(block.text)) for lines in self.examples)

    def c_code(self, block):
        if "int main(" in block.text:
            return self.program(block.text)
        if "c" not in block.marks and self.is_excerpt(block):
            return None
        return self.compile(self.embed(block), "-fsyntax-only", "-Wno-unused")

    def embed(self, block):
        """The code with what its mark declares, as a file."""
        own = [line for line in block.lines if line.startswith("#")]
        code = "\n".join(line for line in block.lines if not line.startswith("#"))
        if not FILE_SCOPE.search(code):
            code = f"void excerpt_(void);\nvoid excerpt_(void)\n{{\n{code}\ngoto drop; drop: return;\n}}"
        includes = [f"#include <{name}>" for name in HEADERS]
        return "\n".join(["#define _GNU_SOURCE", *own, *includes, block.marks.get("c", ""), code, ""])

    def program(self, text):
        return self.compile(text, "-o", self.place / ".program")

    def compile(self, text, *options):
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libevent-smp"], env=self.sandbox.env,
                               capture_output=True, text=True, check=True).stdout.split()
        done = subprocess.run(["cc", *WARNINGS, *options, "-x", "c", "-", *flags], input=text, text=True,
                              capture_output=True, env=self.sandbox.env)
        return f"does not compile:\n{done.stderr}" if done.returncode else None

    # ------------------------------------------------------------ commands

    def commands(self, block):
        if "server" in block.marks:
            return self.sandbox.serve(block.text, self.place)
        status, self.output = self.sandbox.run(block.text, self.place)
        return f"status {status}:\n{self.output[-3000:]}" if status else None

    # ------------------------------------------------------------ links

    def links(self, path):
        """Files that are not there, and headings."""
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        for name, anchor in LINK.findall(text):
            if re.match(r"https?:", name):
                continue
            target = path.parent / name if name else path
            if not target.exists():
                yield f"{name_of(path)}: links to {name}, which is not there"
            elif anchor and anchor not in map(slug, re.findall(r"^#+ (.*)", target.read_text(), re.MULTILINE)):
                yield f"{name_of(path)}: links to {name}#{anchor}, which is no heading"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    for name in ("--source", "--build", "--prefix"):
        parser.add_argument(name, required=True)
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("documents", nargs="+", type=Path)
    args = parser.parse_args()
    enter_network()
    sandbox = Sandbox(args.source, args.build, args.prefix)
    try:
        checker = Checker(args, sandbox)
        wrong = [error for path in args.documents for error in checker.document(path)]
    finally:
        sandbox.close()
    for what, num in sorted(checker.counts.items()):
        print(f"{num:4} {what}")
    sys.exit("\n".join(["wrong:", *wrong]) if wrong else 0)


main()
