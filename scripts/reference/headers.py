"""Reads the public headers: their sections, and for each function, struct, enum, type and macro its comment and text."""
import dataclasses
import itertools
import re


@dataclasses.dataclass
class Entry:
    kind: str  # function, struct, enum, type, constants, macro, layer (a builder)
    name: str
    text: str  # as it stands in the header, without comments above it
    doc: str = ""
    header: str = ""  # "train.h"
    section: str = ""
    constants: list = dataclasses.field(default_factory=list)  # of an enum
    same: list = dataclasses.field(default_factory=list)  # functions that this macro expands to
    layer_class: str = ""  # of a builder
    options: str = ""  # the struct of its options


@dataclasses.dataclass
class Header:
    name: str
    title: str
    doc: str
    entries: list
    sections: list  # (title, text)


IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"


def comment_text(lines):
    """The text of a comment: paragraphs and indented code stay as they are."""
    text = "\n".join(lines).strip()
    text = text.removeprefix("/*").removesuffix("*/").rstrip()
    rows = text.split("\n")
    rows = [rows[0].strip()] + [re.sub(r"^ \* ?", "", row).rstrip() for row in rows[1:]]
    return "\n".join(rows).strip("\n")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def c_lines(text):
    """The lines that a C compiler sees, of each #if one branch; lines of conditions are left out."""
    skipping = []
    for line in text.split("\n"):
        words = line.split()
        if line.startswith("#if"):
            condition = line.replace(" ", "")
            is_cpp = "__cplusplus" in condition and "!" not in condition and "ifndef" not in condition
            skipping.append(is_cpp)
        elif line.startswith("#el"):
            skipping[-1] = not skipping[-1]
        elif line.startswith("#endif"):
            skipping.pop()
        elif not any(skipping) and not (words and words[0] in ("#include", "#undef")):
            yield line


def take(lines, at):
    """The index after the comment, directive or declaration that begins at line `at`."""
    line = lines[at]
    if line.startswith("/*"):
        while "*/" not in lines[at]:
            at += 1
        return at + 1
    if line.startswith("#"):
        while lines[at].endswith("\\"):
            at += 1
        return at + 1
    depth = 0
    while True:
        bare = without_comments(lines[at])
        if "/*" in bare:  # a comment of several lines, in a struct
            while "*/" not in lines[at]:
                at += 1
            at += 1
            continue
        depth += bare.count("{") + bare.count("(") - bare.count("}") - bare.count(")")
        at += 1
        if depth == 0 and (bare.rstrip().endswith(";") or (bare.rstrip().endswith("}") and "=" not in bare)):
            return at


def macro(text, doc):
    name = re.match(rf"#define ({IDENTIFIER})", text).group(1)
    if name.endswith("_") or name.endswith("_H") or name in ("LIANA_API", "LIANA_STATUS_ENUM", "LIANA_DTYPE_ENUM"):
        return None
    entry = Entry("macro", name, text, doc)
    body = text.replace("\\\n", " ")
    builder = re.search(rf'LIANA_[A-Z_]+_\(\s*"(\w+)",\s*(liana_\w+)', body)
    color = re.search(r'LIANA_RANDOM_COLOR_\(\s*"(\w+)"', body)
    if builder and name.startswith("liana_"):
        entry.kind, entry.layer_class, entry.options = "layer", builder.group(1), builder.group(2)
    elif color and name.startswith("liana_"):
        entry.kind, entry.layer_class = "layer", color.group(1)
    called = re.search(rf"^#define {name}\([^)]*\)\s+(liana_\w+_at)\(", body)
    if called:
        entry.same = [called.group(1)]
    return entry


def declaration(text, doc):
    bare = re.sub(r"\s+", " ", without_comments(text)).strip()
    named = re.match(rf"typedef (struct|enum|union) ({IDENTIFIER}) \{{", bare)
    if named:
        kind = "enum" if named.group(1) == "enum" else "struct"
        entry = Entry(kind, re.search(rf"({IDENTIFIER});$", bare).group(1), text, doc)
        if kind == "enum":
            entry.constants = re.findall(rf"(?:\{{|,) ?({IDENTIFIER})", bare)
        return entry
    if re.match(r"enum \{", bare):
        constants = re.findall(rf"(?:\{{|,) ?({IDENTIFIER})", bare)
        return Entry("constants", constants[0], text, doc, constants=constants)
    if re.match(rf"struct {IDENTIFIER} ?;", bare):
        return None
    named = re.match(rf"struct ({IDENTIFIER}) \{{", bare)
    if named:
        return Entry("struct", named.group(1), text, doc)
    if bare.startswith("typedef"):
        named = re.search(rf"\(\*({IDENTIFIER})\)", bare) or re.search(rf"({IDENTIFIER})\(", bare)
        named = named or re.search(rf"({IDENTIFIER});$", bare)
        return Entry("type", named.group(1), text, doc)
    table = re.match(rf"static const [^=]*?({IDENTIFIER})(?:\[\w*\])* =", bare)
    if table:
        return Entry("constants", table.group(1), text, doc)
    call = re.search(rf"({IDENTIFIER}) ?\(", re.sub(r'LIANA_(API|MUST_USE|PRINTF\([^)]*\)|DEPRECATED\("[^"]*"\)) ?', "", bare))
    if call:
        return Entry("function", call.group(1), text, doc)
    raise ValueError(f"a declaration that scripts/reference/headers.py does not know: {bare[:200]}")


def read_header(path, name):
    """The header with its entries. A comment is for all that follows it without an empty line."""
    lines = list(c_lines(open(path, encoding="utf-8").read()))
    header = Header(name, "", "", [], [])
    at, doc, section, section_doc = 0, "", "", ""
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            doc, at = "", at + 1
            continue
        end = take(lines, at)
        text = "\n".join(lines[at:end])
        at = end
        if line.startswith("/* ----"):
            title, _, rest = comment_text(text.split("\n")).partition("\n")
            section, section_doc, doc = title.strip("- "), rest.strip("\n"), ""
            header.sections.append((section, section_doc))
            continue
        if line.startswith("/*"):
            doc = comment_text(text.split("\n"))
            if not header.title:
                head, _, rest = doc.partition("\n")
                header.title, header.doc, doc = head.partition(" - ")[2], rest.strip("\n"), ""
                # A first sentence of several lines ends with its line's paragraph.
                more, _, rest = header.doc.partition("\n\n")
                if not head.rstrip().endswith("."):
                    header.title, header.doc = header.title + " " + more.replace("\n", " "), rest
            continue
        entry = macro(text, doc) if line.startswith("#define") else declaration(text, doc)
        if entry is None:
            continue
        entry.header, entry.section = name, section
        entry.doc = entry.doc or (section_doc if not line.startswith("#define") or entry.kind == "layer" else "")
        header.entries.append(entry)
    return header


def option_macros(text):
    """Macros that stand for members of structs: name -> (parameters, body)."""
    found = {}
    for line in re.findall(r"^#define (?:.*\\\n)*.*$", text, flags=re.M):
        match = re.match(r"#define (LIANA_\w*OPTIONS\w*)(?:\((\w+)\))?\s", line)
        if match:
            body = re.sub(r"\s*\\\n", "\n", line[match.end():].lstrip("\\\n"))
            found.setdefault(match.group(1), (match.group(2), body))
    return found


def expand(text, macros, depth=0):
    """A struct with its option macros written out, and defaults as comments."""
    def replaced(match):
        parameter, body = macros[match.group(1)]
        if parameter:
            body = re.sub(rf"\b{parameter}\b", match.group(2) or "", body)
        rows = [row.strip() for row in body.strip("\n").split("\n")]
        return ("\n" + match.group(0)[:0] + "    ").join(rows)

    for _ in range(6):
        names = "|".join(sorted(map(re.escape, macros), key=len, reverse=True))
        changed = re.sub(rf"\b({names})\b(?:\((\w+)\))?", replaced, text) if names else text
        if changed == text:
            break
        text = changed
    text = re.sub(r" LIANA_DEFAULT_\(\)", "", text)
    text = re.sub(r"\s*(/\*[^\n]*\*/)\s*;$", r"; \1", text, flags=re.M)
    text = re.sub(r" LIANA_DEFAULT_\(((?:[^()]|\([^()]*\))*)\)(;?)", r"\2 /* default: \1 */", text)
    return re.sub(r" \*/ +/\* ", "; ", re.sub(r"(?<=\S) +(/\*)", r" \1", re.sub(r" +;", ";", text)))


def expand_enum(entry, by_name):
    """An enum that is made from a map of names and texts, with these written out."""
    row = re.search(rf"#define ({IDENTIFIER})\(name, text[^)]*\) (\w*)##name,\n\s*({IDENTIFIER})\(\1\)\n", entry.text)
    if not row:
        return
    source = by_name[row.group(3)]
    rows = re.findall(r'X\((\w+), "([^"]*)"[^)]*\)', source.text)
    entry.constants = [row.group(2) + name for name, _ in rows]
    lines = "".join(f"    {row.group(2)}{name}, /* {text} */\n" for name, text in rows)
    entry.text = entry.text[:row.start()].rstrip(" ") + lines + entry.text[row.end():].lstrip(" ")
    entry.doc = entry.doc or source.doc


def sentence(text):
    """The first sentence of a comment, as one line."""
    first = re.split(r"\n\n|\n {4}", text)[0].replace("\n", " ").strip()
    match = re.match(r"(.*?[a-z0-9)\]\"'][.:])(?= [A-Z`(]|$)", first)
    return (match.group(1) if match else first).rstrip(".:")


def blocks(text):
    """Paragraphs and indented code: [("text" or "code", text)]."""
    found = []
    for part in re.split(r"\n{2,}", text):
        for is_code, rows in itertools.groupby(part.split("\n"), key=lambda row: row.startswith("    ")):
            rows = list(rows)
            if is_code and found and found[-1][0] == "code" and rows == part.split("\n"):
                found[-1] = ("code", found[-1][1] + "\n\n" + "\n".join(row[4:] for row in rows))
            elif is_code:
                found.append(("code", "\n".join(row[4:] for row in rows)))
            elif any(row.strip() for row in rows):
                found.append(("text", " ".join(row.strip() for row in rows)))
    return found


def made_doc(entry, by_name):
    """What follows from a name: of builders, their structs and their defaults. Else nothing."""
    if entry.kind == "layer":
        return f"Adds {entry.layer_class} to a model."
    users = [other for other in by_name.values() if other.options == entry.name]
    if users:
        return "Options of " + ", ".join(user.name for user in users) + "."
    if entry.name.endswith("_DEFAULTS"):
        return "Default options of a layer, for LIANA_HELD."
    return ""


def read_all(folder):
    """All public headers in the order of liana.h, then the layers; and the entries by name."""
    paths = sorted(folder.glob("*.h")) + sorted(folder.glob("layers/*.h"))
    texts = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    macros = option_macros(texts)
    headers = [read_header(path, str(path.relative_to(folder))) for path in paths]
    by_name = {}
    for header in headers:
        for entry in header.entries:
            if entry.kind == "struct":
                entry.text = expand(entry.text, macros)
            by_name.setdefault(entry.name, entry)
    for entry in by_name.values():
        if entry.kind == "enum":
            expand_enum(entry, by_name)
        entry.doc = entry.doc or made_doc(entry, by_name)
    return headers, by_name
