"""Writes the reference as Markdown: a page for each kind of `liana list`, for the subcommands, and for each public header."""
import re

import headers
import tables

# The first line of each page.
MARK = "<!-- Written by `make reference` from the program's tables and headers. Change those. -->\n"

TITLES = {
    "configuration": "Keys of the configuration",
    "sweep": "Keys of a sweep",
    "models": "Models",
    "data": "Data sets by name",
    "columns": "Options of a column",
    "datasets": "Stages of datasets",
    "instruction_sets": "Instruction sets",
    "environment": "Environment variables",
    "subcommands": "Subcommands and their options",
    "exit_codes": "Exit codes",
    "statuses": "Statuses",
    "events": "Events in JSON",
}


def kinds_file(kind):
    return kind.replace("_", "-") + ".md"


def title_of(kind):
    return TITLES.get(kind) or kind[0].upper() + kind[1:].replace("_", " ")


def plain(text):
    """A text of the tables in Markdown: what Markdown would read as marks is text, but for `code`."""
    parts = re.split(r"(`[^`\n|]+`)", text)
    return "".join(part if at % 2 else re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", part) for at, part in enumerate(parts))


def sentence(text):
    """A meaning from the tables as a sentence."""
    first = text[:1].upper() if re.match(r"(a|[a-z]{2,},?) [a-z]", text) else text[:1]
    return plain(first + text[1:]).rstrip(".") + "."


def cell(text):
    return f"`{text.replace('|', chr(92) + '|')}`" if text else ""


def anchored(name, place, title=""):
    """The first cell of a row, with an anchor that guides link to and the search finds under the title, else the place."""
    attribute = f' title="{title}"' if title else ""
    return f'<a id="{place}"{attribute}></a>`{name}`'


def option_table(options):
    rows = ["| option | default | type and range | meaning |", "|---|---|---|---|"]
    for option in options:
        kind = ", ".join(f"`{word}`" for word in option.get("words", [])) or option["type"]
        if option.get("range"):
            kind += f", {option['range']}"
        default = "required" if option.get("required") else cell(option.get("default", ""))
        rows.append(f"| `{option['name']}` | {default} | {kind} | {sentence(option['doc'])} |")
    return "\n".join(rows) + "\n"


def keys_page(kind, table):
    text = [f"# {title_of(kind)}\n"]
    if kind == "configuration":
        text.append("A configuration is a YAML file (`liana train CONFIG.yaml`). The heading of a table is the section of its "
                    "keys. Any key may be given on the command line: `train.epochs=3`. *Resume* says whether a run that goes "
                    "on may change the key: *yes*, *with --allow-changed*, or *no*. The same in a terminal: `liana list "
                    "configuration train.epochs`, `man 5 liana.yaml`.\n")
    docs = {section["name"]: section["doc"] for section in table.get("sections", [])}
    sections = {}
    for item in table["items"]:
        sections.setdefault(item["name"].rpartition(".")[0], []).append(item)
    resume = " resume |" if kind == "configuration" else ""
    for section, items in sections.items():
        if section or len(sections) > 1:
            text.append(f"## {section or 'Keys of no section'}\n")
            text.append(f"{sentence(docs[section])}\n" if docs.get(section) else "")
        rows = [f"| key | default | type and range |{resume} meaning |", "|---|---|---|" + ("---|" if resume else "") + "---|"]
        for item in items:
            words = ", ".join(f"`{word}`" for word in item.get("words", [])) or item["type"]
            words += f", {item['range']}" if item.get("range") else ""
            in_c = f" In C: `{item['in_c']}`." if item.get("in_c") else ""
            differs = " May differ between processes." if item.get("each_process") else ""
            changes = f" {item['resume']} |" if resume else ""
            name = item["name"].rpartition(".")[2]
            rows.append(f"| {anchored(name, item['name'])} | {cell(item['default'])} | {words} |{changes} "
                        f"{sentence(item['doc'])}{in_c}{differs} |")
        text.append("\n".join(rows) + "\n")
    return "\n".join(part for part in text if part)


def kind_page(kind, table, builders):
    text = [f"# {title_of(kind)}\n", f"{plain(table['doc'][0].upper() + table['doc'][1:])}. In a terminal: `liana list {kind}`"
            + (f", `liana list {kind} NAME`" if any(item.get("options") for item in table["items"]) else "") + ".\n"]
    if not any(item.get("options") for item in table["items"]):
        rows = ["| name | meaning |", "|---|---|"]
        for item in table["items"]:
            also = f" (also {', '.join(f'`{name}`' for name in item['aliases'])})" if item.get("aliases") else ""
            rows.append(f"| {anchored(item['name'], item['name'])} | {sentence(item['doc'])}{also} |")
        return "\n".join(text) + "\n" + "\n".join(rows) + "\n"
    if kind == "models":
        rows = ["| model | input | parameters | GFLOP |", "|---|---|---:|---:|"]
        for item in table["items"]:
            sides = " x ".join(map(str, item["input_shape"]))
            rows.append(f"| [{item['name']}](#{slug(item['name'])}) | {sides} | {item['parameters']:,} | {item['flops'] / 1e9:.2f} |")
        text.append("\n".join(rows) + "\n")
    common = []
    for item in table["items"]:
        text.append(f"## {item['name']}\n")
        also = f" Also: {', '.join(f'`{name}`' for name in item['aliases'])}." if item.get("aliases") else ""
        builder = builders.get(item["name"])
        in_c = f" In C: [`{builder.name}`](c/{c_file(builder.header)}#{slug(builder.name)})." if builder else ""
        text.append(f"{sentence(item['doc'])}{also}{in_c}\n")
        own = [option for option in item.get("options", []) if not option.get("common")]
        common = [option for option in item.get("options", []) if option.get("common")]
        if own:
            text.append(option_table(own))
    if common:
        text.append("## Options of all of them\n")
        text.append(option_table(common))
    return "\n".join(text)


def commands_page(table):
    text = [f"# {title_of('subcommands')}\n", "In a terminal: `liana help`, `liana SUBCOMMAND --help`, `man liana-train`.\n"]
    for item in table["items"]:
        text.append(f"## liana {item['name']}\n")
        text.append(f"```\nliana {item['name']}{' ' + item['operands'] if item['operands'] else ''} [options]\n```\n")
        text.append(f"{sentence(item['doc'])}\n")
        if item["help"]:
            text.append("```\n" + item["help"].rstrip("\n") + "\n```\n")
        rows = ["| option | meaning |", "|---|---|"]
        for option in item["options"]:
            argument = " " + option["argument"] if option.get("argument") else ""
            place, title = item["name"] + option["name"], f"liana {item['name']} {option['name']}"
            rows.append(f"| {anchored(option['name'] + argument, place, title)} | {sentence(option['doc'])} |")
        text.append("\n".join(rows) + "\n")
    return "\n".join(text)


# ---- the C interface ----


def c_file(header):
    return header.replace("/", "-").removesuffix(".h") + ".md"


def slug(heading):
    """The anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def prose(text, by_name):
    def linked(match):
        entry = by_name.get(match.group(0))
        if not entry:
            return f"`{match.group(0)}`"
        return f"[`{match.group(0)}`]({c_file(entry.header)}#{slug(entry.name)})"

    pieces = []
    for kind, block in headers.blocks(text):
        if kind == "code":
            pieces.append(f"```c\n{block}\n```\n")
            continue
        parts = re.split(r"(\b(?:liana_[a-z0-9_]+|LIANA_[A-Z0-9_]+)\b)", block)
        pieces.append("".join(re.sub(r"^.*$", linked, part) if at % 2 else plain(part) for at, part in enumerate(parts)) + "\n")
    return "\n".join(pieces)


def shown(entry):
    if entry.kind == "layer":
        return f"liana_layer {entry.name}(liana_model *model, .option = value, ...); /* {entry.options or entry.layer_class} */"
    return re.sub(r"[ \t]*\\\n", "\n", re.sub(r"LIANA_(?:API|MUST_USE) ?", "", entry.text))


def header_page(header, by_name, classes):
    text = [f"# liana/{header.name}\n", f"{plain(header.title[:1].upper() + header.title[1:])}\n", prose(header.doc, by_name)]
    section, doc = None, None
    hidden = {name for entry in header.entries for name in entry.same}
    for entry in header.entries:
        if entry.section != section and entry.section:
            section = entry.section
            about = next((about for title, about in header.sections if title == section), "")
            text.append(f"## {plain(section[0].upper() + section[1:])}\n")
            text.append(prose(about, by_name))
            doc = about
        if entry.name in hidden:
            continue
        text.append(f"### {plain(entry.name)}\n")
        text.append(f"```c\n{shown(entry)}\n```\n")
        if entry.doc and entry.doc != doc:
            text.append(prose(entry.doc, by_name))
        if entry.layer_class in classes:
            text.append(f"Options: [{entry.layer_class}](../layers.md#{slug(entry.layer_class)}).\n")
        doc = entry.doc
    return "\n".join(part for part in text if part)


def c_index(all_headers):
    rows = ["# The C interface\n", "`#include <liana/liana.h>` has all of it. In a terminal: `man 3 liana_fit`, `man 3 liana.h`.\n",
            "| header | contents |", "|---|---|"]
    rows += [f"| [{header.name}]({c_file(header.name)}) | {plain(header.title)} |" for header in all_headers]
    return "\n".join(rows) + "\n"


def index(all_tables):
    rows = ["| page | contents |", "|---|---|", "| [The C interface](c/index.md) | every function, struct, enum and macro, by header |"]
    for kind, table in all_tables.items():
        rows.append(f"| [{title_of(kind)}]({kinds_file(kind)}) | {len(table['items'])} {plain(table['doc'])} |")
    return "\n".join(rows) + "\n"


def make(all_tables, all_headers, by_name):
    """name -> text, for a folder docs/reference."""
    builders = {entry.layer_class: entry for entry in by_name.values() if entry.layer_class}
    pages = {"tables.md": "# All tables\n\n" + index(all_tables)}
    for kind, table in all_tables.items():
        if kind in ("configuration", "sweep", "columns"):
            pages[kinds_file(kind)] = keys_page(kind, table)
        elif kind == "subcommands":
            pages[kinds_file(kind)] = commands_page(table)
        else:
            pages[kinds_file(kind)] = kind_page(kind, table, builders if kind in ("layers", "models") else {})
    pages["c/index.md"] = c_index(all_headers)
    classes = {item["name"] for item in all_tables["layers"]["items"]}
    for header in all_headers:
        pages["c/" + c_file(header.name)] = header_page(header, by_name, classes)
    return {name: MARK + text for name, text in pages.items()}
