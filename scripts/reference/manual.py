"""Writes manual pages: liana(1) and liana-SUBCOMMAND(1), liana.yaml(5) and liana-sweep.yaml(5), liana-KIND(7) for the other
kinds of `liana list`, and section 3 with a page for each function, struct, enum and macro of the C interface."""
import re

import headers
import tables

# What is in liana(1), section 5 or each subcommand's page.
ELSEWHERE = ("configuration", "sweep", "subcommands", "exit_codes", "environment")


def roff(text):
    """A text as roff has it; a line never begins with a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti")
    return re.sub(r"^\.", r"\\&.", text, flags=re.M)


def code(text):
    """Lines as they stand."""
    rows = "\n".join(roff(row) if row else "\\&" for row in text.expandtabs().split("\n"))
    return f".nf\n{rows}\n.fi\n"


def prose(text):
    """A header's comment."""
    pieces = []
    for kind, block in headers.blocks(text):
        body = ".RS 4\n" + code(block) + ".RE\n" if kind == "code" else roff(block) + "\n"
        pieces.append(body)
    return ".PP\n".join(pieces)


def term(name, argument, text):
    return f".TP\n.B {roff(name)}{' ' + roff(argument) if argument else ''}\n{roff(text)}\n"


def page(name, section, version, summary, body):
    group = {1: "User Commands", 3: "Library Functions", 5: "File Formats", 7: "Miscellanea"}[section]
    return (f'.TH {roff(name).upper() if section == 1 else roff(name)} {section} "" "liana {version}" "{group}"\n'
            # Long names of C do not fit lines with two straight edges.
            f".ad l\n.SH NAME\n{roff(name)} \\- {roff(summary)}\n{body}")


def see_also(*names):
    return ".SH SEE ALSO\n" + ",\n".join(f".BR {roff(name)} ({section})" for name, section in names) + "\n"


def exit_status(all_tables):
    text = ".SH EXIT STATUS\n"
    for item in all_tables["exit_codes"]["items"]:
        text += term(item["name"] + ("+\\fIn\\fR" if item["name"] == "128" else ""), "", item["doc"]).replace("\\e", "\\")
    return text


def command_page(item, version, all_tables):
    operands = roff(" " + item["operands"]) if item["operands"] else ""
    body = f".SH SYNOPSIS\n.B liana {roff(item['name'])}\n" + (f"{operands.strip()}\n" if operands else "")
    body += "[\\fIoptions\\fR]\n.SH DESCRIPTION\n" + roff(item["doc"]) + ".\n"
    if item["help"]:
        body += ".PP\n" + code(item["help"].rstrip("\n"))
    body += ".SH OPTIONS\n"
    for option in item["options"]:
        body += term(option["name"], option.get("argument", ""), option["doc"])
    if item["overrides"]:
        body += term("key=value", "", "set a key of the configuration, as liana.yaml(5) has it, from the command line")
    body += exit_status(all_tables) + see_also(("liana", 1), ("liana.yaml", 5))
    return page(f"liana-{item['name']}", 1, version, item["doc"].rstrip(".").lower()[0] + item["doc"][1:], body)


def overview_page(version, all_tables):
    body = ".SH SYNOPSIS\n.B liana\n.I SUBCOMMAND\n\\&...\n.SH DESCRIPTION\n"
    body += ("liana trains and fine\\-tunes neural networks, evaluates them, and predicts.\n"
             "A configuration (a YAML file) says what is trained on which data; each training writes a run folder.\n"
             ".SH SUBCOMMANDS\n")
    for item in all_tables["subcommands"]["items"]:
        body += f".TP\n.BR liana\\-{roff(item['name'])} (1)\n{roff(item['doc'])}.\n"
    body += ".SH ENVIRONMENT\n"
    for item in all_tables["environment"]["items"]:
        body += term(item["name"], "", item["doc"])
    body += exit_status(all_tables)
    kinds = [(f"liana-{kind.replace('_', '-')}", 7) for kind in all_tables if kind not in ELSEWHERE]
    return page("liana", 1, version, "train and fine-tune neural networks",
                body + see_also(("liana.yaml", 5), ("liana-sweep.yaml", 5), ("liana.h", 3), *kinds))


def field_text(field):
    facts = "; ".join(f"{name}: {text}" if text else name for name, text in tables.facts_of(field))
    return f".TP\n.B {roff(field['name'])}\n{roff(field['doc'])}\n.br\n{roff(facts)}\n"


def keys_page(name, version, table, summary, lead):
    body = ".SH DESCRIPTION\n" + lead
    docs = {section["name"]: section["doc"] for section in table.get("sections", [])}
    sections = {}
    for item in table["items"]:
        sections.setdefault(item["name"].rpartition(".")[0], []).append(item)
    for section, items in sections.items():
        body += f".SH {roff(section.upper() if section else 'KEYS OF NO SECTION')}\n"
        body += f"{roff(docs[section])}.\n" if docs.get(section) else ""
        body += "".join(field_text(item) for item in items)
    return page(name, 5, version, summary, body + see_also(("liana", 1), ("liana-list", 1)))


def kind_page(kind, version, table):
    body = ".SH DESCRIPTION\n" + roff(f"Also printed by: liana list {kind} [NAME].") + "\n.SH NAMES\n"
    common = next((item["options"] for item in table["items"] if any(o.get("common") for o in item.get("options", []))), [])
    for item in table["items"]:
        title = item["name"] + (f" (also {', '.join(item['aliases'])})" if item.get("aliases") else "")
        body += f".SS {roff(title)}\n{roff(item['doc'])}\n"
        body += "".join(field_text(option) for option in item.get("options", []) if not option.get("common"))
        body += field_text(item)[len(".TP\n"):].split("\n", 2)[2] if "type" in item else ""
    common = [option for option in common if option.get("common")]
    if common:
        body += ".SH OPTIONS OF ALL OF THEM\n" + "".join(field_text(option) for option in common)
    name = f"liana-{kind.replace('_', '-')}"
    return page(name, 7, version, table["doc"], body + see_also(("liana", 1), ("liana-list", 1), ("liana.yaml", 5)))


# ---- section 3 ----


def synopsis(entry, by_name):
    text = entry.text
    if entry.kind == "layer":
        text = f"liana_layer {entry.name}(liana_model *model, .option = value, ...);"
    elif entry.kind == "macro" and entry.same and entry.same[0] in by_name:
        call = re.match(rf"#define ({entry.name}(?:\([^)]*\))?)", text).group(1)
        text = f"{call}\n\n{by_name[entry.same[0]].text}"
    text = re.sub(r"[ \t]*\\\n", "\n", re.sub(r"LIANA_(?:API|MUST_USE) ?", "", text))
    return f".SH SYNOPSIS\n.B #include <liana/{entry.header}>\n.PP\n" + code(text)


def layer_options(entry, classes):
    """The options of a layer's builder with their meanings, as `liana list layers` has them."""
    options = classes[entry.layer_class]["options"]
    own = "".join(field_text(option) for option in options if not option.get("common"))
    common = ", ".join(option["name"] for option in options if option.get("common"))
    return ".SH OPTIONS\n" + (own + ".PP\n" if own else "") + f"{roff('Options of all layers, see liana-layers(7): ' + common)}.\n"


def entry_page(entry, by_name, version, near, classes):
    body = synopsis(entry, by_name)
    body += ".SH DESCRIPTION\n" + (prose(entry.doc) if entry.doc else f"Declared in <liana/{entry.header}>.\n")
    used = [by_name[name] for name in dict.fromkeys(re.findall(r"liana_\w+_options\b", entry.text + entry.options))
            if name in by_name and name != entry.name]
    if entry.layer_class in classes:
        body += layer_options(entry, classes)
    elif entry.kind in ("function", "layer", "macro"):
        for other in used:
            body += f".SH OPTIONS\n{prose(other.doc) if other.kind != 'layer' and other.doc != entry.doc else ''}" + code(other.text)
    body += see_also((f"liana-{entry.header.replace(chr(47), chr(45))}", 3), *((name, 3) for name in near))
    summary = headers.sentence(entry.doc) or f"{entry.kind} of <liana/{entry.header}>"
    return page(entry.name, 3, version, re.sub(r"\s+", " ", summary), body)


def header_page(header, version):
    name = "liana-" + header.name.replace("/", "-")
    body = f".SH SYNOPSIS\n.B #include <liana/{header.name}>\n.SH DESCRIPTION\n{prose(header.doc) or roff(header.title)}\n"
    sections = {}
    for entry in header.entries:
        sections.setdefault(entry.section, []).append(entry)
    for section, entries in sections.items():
        body += f".SH {roff(section.upper() or 'CONTENTS')}\n"
        for entry in entries:
            body += f".TP\n.BR {roff(entry.name)} (3)\n{roff(headers.sentence(entry.doc)) or entry.kind}\n"
    return page(name, 3, version, header.title.rstrip("."), body + see_also(("liana.h", 3)))


def library_page(all_headers, version):
    body = ".SH SYNOPSIS\n.B #include <liana/liana.h>\n.PP\ncc program.c $(pkg\\-config \\-\\-cflags \\-\\-libs liana)\n"
    body += ".SH DESCRIPTION\nThe C interface of liana. Each header has a page:\n"
    for header in all_headers:
        body += f".TP\n.BR liana\\-{roff(header.name.replace('/', '-'))} (3)\n{roff(header.title)}\n"
    return page("liana.h", 3, version, "the C interface of liana", body + see_also(("liana", 1)))


def write(folder, version, all_tables, all_headers, by_name):
    """All pages below folder/man1, man3, man5 and man7. Returns how many."""
    pages = {"man1/liana.1": overview_page(version, all_tables), "man3/liana.h.3": library_page(all_headers, version)}
    for item in all_tables["subcommands"]["items"]:
        pages[f"man1/liana-{item['name']}.1"] = command_page(item, version, all_tables)
    pages["man5/liana.yaml.5"] = keys_page(
        "liana.yaml", version, all_tables["configuration"], "the configuration of a training",
        "A YAML file for liana\\-train(1) and others. Keys are given here with their sections: \\fBtrain.epochs\\fR is the key\n"
        "\\fBepochs\\fR of the section \\fBtrain\\fR. Each may be given on the command line as \\fIkey\\fR=\\fIvalue\\fR.\n")
    pages["man5/liana-sweep.yaml.5"] = keys_page(
        "liana-sweep.yaml", version, all_tables["sweep"], "the file of a sweep", "A YAML file for liana\\-sweep(1).\n")
    for kind, table in all_tables.items():
        if kind not in ELSEWHERE:
            pages[f"man7/liana-{kind.replace('_', '-')}.7"] = kind_page(kind, version, table)
    classes = {item["name"]: item for item in all_tables["layers"]["items"]}
    for header in all_headers:
        pages[f"man3/liana-{header.name.replace('/', '-')}.3"] = header_page(header, version)
        names = [entry.name for entry in header.entries if entry.kind in ("function", "layer")]
        for at, entry in enumerate(header.entries):
            near = [name for name in names if name != entry.name and not name.endswith("_at")]
            place = sum(other.name in near for other in header.entries[:at])
            pages.setdefault(f"man3/{entry.name}.3", entry_page(entry, by_name, version, near[max(0, place - 2):place + 2], classes))
            for constant in entry.constants:
                if constant != entry.name:
                    pages.setdefault(f"man3/{constant}.3", f".so man3/{entry.name}.3\n")
        for entry in header.entries:
            for called in entry.same:
                pages[f"man3/{called}.3"] = f".so man3/{entry.name}.3\n"
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return len(pages)
