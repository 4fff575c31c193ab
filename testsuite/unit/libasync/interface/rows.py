"""The rows of interface-core.tsv as C++: for each row a function that uses the name as the row's signature says.

A row names a member of a class template, but not the template's arguments. frames.txt has them: for each header some
declarations, and for each class an instance and the meaning of T, K, V, ... A few rows, most of them macros, need a use
of their own; frames.txt has those too.
"""
import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEYWORDS = {"const", "struct", "enum", "class", "unsigned", "signed", "typename", "volatile"}


@dataclass
class Row:
    line: int
    header: str
    kind: str
    scope: str
    name: str
    type: str
    signature: str

    def title(self):
        scope = self.scope + "::" if self.scope else ""
        return f"{self.header}: {self.kind} {self.type} {scope}{self.name} {self.signature}".replace("  ", " ").strip()

    def key(self):
        return "\t".join((self.kind, self.scope, self.name.strip(), self.signature))


@dataclass
class Frame:
    """What the rows of one header need around them."""

    prelude: list = field(default_factory=list)
    classes: dict = field(default_factory=dict)  # name in the table: (instance, declarations)
    uses: dict = field(default_factory=dict)  # key of a row: C++ of its own


def read_rows(path=HERE / "interface-core.tsv"):
    rows = []
    for number, text in enumerate(path.read_text().splitlines(), 1):
        if number > 1:
            rows.append(Row(number, *text.split("\t")[:6]))
    return rows


def read_frames(path=HERE / "frames.txt"):
    frames, frame, use = {}, None, None
    for text in path.read_text().splitlines():
        if text.startswith("== "):
            frame = frames.setdefault(text[3:].strip(), Frame())
            use = None
        elif frame is None or text.startswith("//"):
            continue
        elif re.match(r"class [\w:*]+ = ", text):
            name, rest = text[6:].split(" = ", 1)
            instance, _, declarations = rest.partition(" : ")
            frame.classes[name.strip()] = (instance.strip(), declarations)
            use = None
        elif text.startswith("use "):
            use = []
            frame.uses["\t".join(x.strip() for x in text[4:].split("|"))] = use
        elif use is not None:
            use.append(text)
        else:
            frame.prelude.append(text)
    return frames


def split_commas(text):
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "<([{":
            depth += 1
        elif c in ">)]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    parts.append(text[start:])
    return [x.strip() for x in parts if x.strip()]


def clean_type(text):
    """The table's spelling of a type as C++ that means the same: its macros expanded, its tags dropped."""
    text = re.sub(r"\btypename\s+", "", text)
    text = re.sub(r"\bNCREF \((\w+)\)", r"\1 & ", text)
    text = re.sub(r"\bCREF \((\w+)\)", r"const \1 & ", text)
    text = re.sub(r"\bWEAK_TMPL \((\w+)\)", r"\1 ", text)
    text = re.sub(r"\b(struct|enum):[\w:]*?(\w+)$", r"\2", text)
    return text.replace("const::", "const ::").strip()


def parse_parameter(text):
    """(type, whether it has a default) of one parameter."""
    depth, end = 0, len(text)
    for i, c in enumerate(text):
        depth += (c in "<(") - (c in ">)")
        if c == "=" and depth == 0:
            end = i
            break
    has_default = end < len(text)
    text = clean_type(text[:end].strip())
    pack = re.match(r"(\w+) &&\.\.\.\w+$", text)
    if pack:
        return f"{pack[1]} &&", has_default
    pointer = re.search(r"\(\s*((?:\w+::)?\*)\s*\w*\s*\)(?=\()", text)
    if pointer:
        return text[: pointer.start()] + f"({pointer[1]})" + text[pointer.end() :], has_default
    array = re.match(r"(.*?)\s*\w+\[\]$", text)
    if array:
        return array[1] + " *", has_default
    named = re.match(r"(.*[\s&*>])(\w+)$", text)
    if named and named[2] not in KEYWORDS and not set(re.findall(r"\w+", named[1])) <= KEYWORDS | {"long"}:
        return named[1].strip(), has_default
    return text, has_default


@dataclass
class Signature:
    types: list
    needed: int
    is_const: bool
    is_variadic: bool


def parse_signature(text):
    is_const = bool(re.search(r"\)\s*const$", text))
    body = re.sub(r"\)\s*(const)?$", "", text).strip()[1:]
    parts = split_commas(body)
    is_variadic = bool(parts) and parts[-1] == "..."
    if is_variadic:
        parts.pop()
    if parts == ["void"]:
        parts = []
    parsed = [parse_parameter(x) for x in parts]
    needed = len([1 for _, has_default in parsed if not has_default])
    return Signature([x for x, _ in parsed], needed, is_const, is_variadic)


BINARY = {"==", "!=", "<", "<=", ">", ">=", "+", "-", "<<", "/", "+=", "^=", "="}


def operator_use(symbol, first, args):
    """The expression with an operator; `first` is the object of a member, None of a free function."""
    if first is None:
        first, args = args[0], args[1:]
    if symbol == "[]":
        return f"{first}[{args[0]}]"
    if symbol == "()":
        return f"{first}({', '.join(args)})"
    if symbol == "++":
        return f"{first}++" if args else f"++{first}"
    if symbol == "->":
        return f"{first}.operator->()"
    if symbol in BINARY:
        return f"({first} {symbol} {args[0]})"
    if symbol in ("!", "*") and not args:
        return f"({symbol}{first})"
    return f"static_cast<{symbol}>({first})"


def call_use(row, scope, sig, args):
    """The expression that calls a function or a method with `args`."""
    name = row.name.strip()
    if name.startswith("operator new"):
        return f"::{name}({', '.join(args)})"
    first = "o" if scope else None
    if name.startswith("operator"):
        return operator_use(name[8:].strip(), first, args)
    if sig.is_variadic:
        args = args + ["1"]
    return f"{'o.' if first else ''}{name}({', '.join(args)})"


def checks(expression, wanted):
    lines = [f"(void)({expression});"]
    if wanted == "void":
        # A callback of such a function returns nothing: wrap takes the type as it is.
        lines.append(f"static_assert(std::is_void<decltype({expression})>::value, \"result\");")
    elif wanted:
        lines.append(f"static_assert(std::is_convertible<decltype({expression}), {wanted}>::value, \"result\");")
    return lines


def function_body(row, instance):
    scope, bare = row.scope, row.scope.split("::")[-1]
    kind_type = clean_type(row.type)
    member = re.match(r"(.*?)\s*\(\)\((.*)\)$", row.type)
    signature = row.signature
    if member:
        kind_type, signature = member[1], f"({member[2]})"
    sig = parse_signature(signature)
    params = [f"{t.replace('(*)', f'(*a{i})') if '(*)' in t else re.sub(r'::[*][)]', f'::*a{i})', t)}"
              + ("" if "(*)" in t or "::*)" in t else f" a{i}") for i, t in enumerate(sig.types)]
    args = [f"static_cast<decltype(a{i}) &&>(a{i})" for i in range(len(sig.types))]
    if scope and row.name == bare and not row.type:
        name = instance
        body = [f"{name} x{{}}; (void)x;" if not n else f"{name} x({', '.join(args[:n])}{', 1' if sig.is_variadic else ''}); (void)x;"
                for n in sorted({sig.needed, len(args)})]
        return params, [f"{{ {x} }}" for x in body]
    if row.name == "~" + bare:
        return [f"{instance} *o"], ["delete o;"]
    if scope:
        params = [f"{'const ' if sig.is_const else ''}{instance} &o"] + params
    body = []
    for n in sorted({sig.needed, len(args)}):
        body += checks(call_use(row, scope, sig, args[:n]), kind_type)
    return params, body


def use_of_row(row, frame):
    """C++ that uses the row, in a struct of its own that sees what its class sees."""
    tag = f"row_{row.line}"
    own = frame.uses.get(row.key())
    if own is not None:
        return [x.replace("@", tag) for x in own]
    anonymous = re.sub(r"(::)?__anon\w+$", "", row.scope)
    instance, declarations = frame.classes.get(anonymous, (anonymous, ""))
    if not anonymous:
        instance, declarations = "", frame.classes.get("*", ("", ""))[1]
    if row.kind in ("class", "struct"):
        return class_use(row, frame, tag, instance)
    if row.kind == "enumerator":
        where = f"{instance}::" if anonymous and row.scope != "selop" else ""
        return [f"struct {tag} {{ static int use() {{ return static_cast<int>({where}{row.name}); }} }};"]
    if row.kind == "typedef":
        return typedef_use(row, tag, instance, declarations)
    if row.kind == "macro":
        return [f"#ifndef {row.name}", f"#error {row.name} is no macro", "#endif"]
    head = f"struct {tag}" + (f" : {instance}" if instance else "") + f" {{ {declarations}"
    if row.kind == "member" and "()(" not in row.type:
        body = [f"decltype(auto) r = (o.{row.name}); (void)r;"]
        wanted = clean_type(row.type)
        if wanted and "[" not in wanted:
            # To a reference: not everything can be copied.
            body.append(f"typedef {wanted} wanted_t;")
            body.append(f"static_assert(std::is_convertible<decltype((o.{row.name})), const wanted_t &>::value, \"type\");")
        params = [f"{instance} &o"]
    else:
        params, body = function_body(row, instance)
    return [head, f"static __attribute__((used)) void use({', '.join(params)})", "{", *body, "}", "};"]


def class_use(row, frame, tag, instance):
    """The name is a class, or a class template of which frames.txt has an instance."""
    name = row.name
    if row.scope:
        return [f"struct {tag} {{ static bool use({instance}::{name} *p) {{ return p == nullptr; }} }};"]
    named = frame.classes.get(name, (name, ""))[0]
    return [f"struct {tag} {{ static bool use({named} *p) {{ return p == nullptr; }} }};"]


def typedef_use(row, tag, instance, declarations):
    where = f" : {instance}" if instance else ""
    wanted = clean_type(row.type)
    out = [f"struct {tag}{where} {{ {declarations}"]
    name = f"{instance}::{row.name}" if instance else f"::{row.name}"
    if row.type.startswith("struct:"):
        out.append(f"static bool use(typename std::add_pointer<{name}>::type p) {{ return p == nullptr; }}")
    elif row.type.startswith("enum:"):
        out.append(f"static_assert(std::is_enum<{name}>::value, \"an enum\");")
    elif row.header == "sysconf.h" and "*" not in wanted:
        out.append(f"static_assert(std::is_integral<{name}>::value, \"an integer\");")
    elif wanted:
        out.append(f"static_assert(std::is_same<{name}, {wanted}>::value, \"type\");")
    else:
        out.append(f"static_assert(sizeof({name} *) != 0, \"a type\");")
    return out + ["};"]


HEAD = ["#include <type_traits>", "#include <utility>", "#include <new>", "#include <initializer_list>"]


def unit(header, rows, frame):
    """A translation unit that includes `header` alone and uses `rows` of it."""
    out = [f"#include <{header}>", *HEAD, '#pragma GCC diagnostic ignored "-Wunused"',
           '#pragma GCC diagnostic ignored "-Wunused-parameter"', '#line 1 "frames.txt"', *frame.prelude]
    for row in rows:
        lines = use_of_row(row, frame)
        out.append(f'#line {row.line} "interface-core.tsv"')
        # One line, so that each message names the row; what has directives stays as it is.
        out += lines if any(x.startswith("#") for x in lines) else [" ".join(lines)]
    return "\n".join(out) + "\n"
