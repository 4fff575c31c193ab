"""The pieces of code in a document: Markdown, or a manual page in mdoc."""
import re
from dataclasses import dataclass, field

MARK = re.compile(r'(?:<!--|\.\\") docs: (.*)')
FENCE = re.compile(r"```(.*)$")
INDENTED = re.compile(r"(?:\t| {4})(.*)$")
LIST_ITEM = re.compile(r" *(?:[*-]|\d+\.) ")
C_CODE = re.compile(r";$|^#\s*include", re.MULTILINE)


class Bad(Exception):
    """A document that is wrong: the text says where, and why."""


@dataclass
class Block:
    place: str                  # document:line
    kind: str                   # the words behind ```; "sh" or "c" where the document does not say
    lines: list
    marks: dict = field(default_factory=dict)

    @property
    def text(self):
        return "\n".join(self.lines) + "\n"


def parse_mark(text):
    """`not run: REASON`, `file NAME`, `needs COMMAND...`: a name and what follows it. None: no such mark."""
    name = next((name for name in ("not run", "c", "file", "needs", "output", "rows", "server")
                 if re.match(name + r"\b", text)), None)
    return name, text[len(name or ""):].lstrip(": ")


def name_of(path):
    """There are many of the name README.md."""
    return path.name if path.name != "README.md" else f"{path.parent.name}/{path.name}"


class Reader:
    """Walks through the lines of a document. `marks` are those that the next block has."""

    def __init__(self, path):
        self.name = name_of(path)
        self.rest = list(enumerate(path.read_text().splitlines(), 1))[::-1]
        self.marks = {}
        self.number = 0

    def next(self):
        if not self.rest:
            return None
        self.number, line = self.rest.pop()
        return line

    def peek(self):
        return self.rest[-1][1] if self.rest else None

    def take_mark(self, line):
        """A mark, which may have several lines in Markdown. False: the line is none."""
        match = MARK.match(line)
        if not match:
            return False
        text = match[1]
        if line.startswith("<!--"):
            while "-->" not in text:
                more = self.next()
                if more is None:
                    raise Bad(f"{self.name}: a comment without an end")
                text += "\n" + more
            text = text.split("-->")[0].strip()
        name, rest = parse_mark(text)
        if name is None:
            raise Bad(f"{self.name}:{self.number}: no such mark: {rest}")
        self.marks[name] = rest if name not in self.marks else self.marks[name] + "\n" + rest
        return True

    def block(self, number, kind, lines):
        block = Block(f"{self.name}:{number}", kind, lines, self.marks)
        self.marks = {}
        return block

    def until(self, end):
        """The lines before `end`."""
        begin, lines = self.number, []
        while (line := self.next()) != end:
            if line is None:
                raise Bad(f"{self.name}:{begin}: code without an end")
            lines.append(line)
        return lines


def indented(reader, first):
    """A block of indented lines, blank ones between them included."""
    lines = [first]
    while (line := reader.peek()) is not None and (INDENTED.match(line) or not line.strip()):
        match = INDENTED.match(line)
        lines.append(match[1] if match else "")
        reader.next()
    while not lines[-1]:
        lines.pop()
    return lines


def markdown(path):
    reader = Reader(path)
    is_in_list, is_after_blank = False, True
    while (line := reader.next()) is not None:
        number = reader.number
        fence, indent = FENCE.match(line), INDENTED.match(line)
        if reader.take_mark(line):
            is_after_blank = True
        elif fence:
            yield reader.block(number, fence[1].strip() or "sh", reader.until("```"))
        elif indent and is_after_blank and line.strip():
            if is_in_list:
                raise Bad(f"{path.name}:{number}: indented code in a list; put it between ```")
            yield reader.block(number, "sh", indented(reader, indent[1]))
        else:
            is_after_blank = not line.strip()
            if not is_after_blank and not indent:
                is_in_list = bool(LIST_ITEM.match(line)) or (is_in_list and line.startswith(" "))
                if line.startswith("|") and "rows" in reader.marks:
                    yield reader.block(number, "table", table(reader, line))
    if reader.marks:
        raise Bad(f"{path.name}: a mark without a block: {', '.join(reader.marks)}")


def table(reader, first):
    lines = [first]
    while (line := reader.peek()) is not None and line.startswith("|"):
        lines.append(reader.next())
    return lines


def plain(line):
    """A line of a literal block, as man shows it."""
    return line.replace("\\e", "\\").replace("\\-", "-").replace("\\&", "").replace("\\(aq", "'")


def manual(path):
    reader = Reader(path)
    while (line := reader.next()) is not None:
        number = reader.number
        if reader.take_mark(line):
            continue
        if line.startswith(".Bd -literal"):
            lines = [plain(text) for text in reader.until(".Ed")]
            yield reader.block(number, "c" if C_CODE.search("\n".join(lines)) else "sh", lines)
        elif line.startswith(".Dl "):
            yield reader.block(number, "sh", [plain(line[4:])])
    if reader.marks:
        raise Bad(f"{path.name}: a mark without a block: {', '.join(reader.marks)}")


def blocks(path):
    return markdown(path) if path.suffix == ".md" else manual(path)
