"""Compares the reference with the program, in both directions. What the program has is found otherwise than
scripts/reference/ finds it: in the source, in what --help prints, and among the symbols of the library.

    check_reference.py ROOT BUILD    checks the pages of docs/reference and the manual pages of the build
    check_reference.py --self-test   shows that each kind of difference is caught
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Names that libraries read themselves, and are told of all the same.
READ_BY_LIBRARIES = {"HTTPS_PROXY", "NO_PROXY"}
READER = r"\b(?:getenv|liana__credentials_variable|liana__cluster_variable|liana__get_environment|os\.environ\.get)\b"


def compare(what, expected, found):
    """Sentences about what is missing, and about what nobody has."""
    return [f"{what}: the reference lacks {name}" for name in sorted(expected - found)] + \
        [f"{what}: the reference has {name}, which there is not" for name in sorted(found - expected)]


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def variables_read(sources):
    """Environment variables of {path: text}: words that are handed to a reader, and words with an underscore in the files
    that have a reader, where tables of names are. Names of statuses are none."""
    found = set()
    statuses = set(re.findall(r"\bX\((\w+), \"", sources.get("include/liana/status.h", "")))
    for text in map(without_comments, sources.values()):
        if re.search(READER, text):
            found.update(re.findall(READER + r'\([^"();]*"([A-Z][A-Z0-9_]+)"', text))
            found.update(re.findall(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)"', text))
    return found - statuses


def events_printed(sources):
    """Values of "event" in the JSON that subcommands print."""
    found = set()
    for text in map(without_comments, sources.values()):
        found.update(re.findall(r'"event", (?:liana__value_string\([^,]+, )?"(\w+)"\)', text))
        for call in re.findall(r"(?:session_event|print_event|row_event)\([^,]+,([^;{]*)[;{]", text):
            found.update(re.findall(r'^ "(\w+)"', call))
            found.update(name for pair in re.findall(r'\? "(\w+)" : "(\w+)"', call) for name in pair)
        for table in re.findall(r"\bevents\[\] = \{(.*?)\}", text, flags=re.S):
            found.update(re.findall(r'"(\w+)"', table))
    return found


def options_of_help(text):
    """The options that --help lists."""
    return set(re.findall(r"^  (--?[A-Za-z][a-z0-9-]*)", text.partition("\nOptions:\n")[2], flags=re.M))


def sections_of(page, level):
    """Heading -> text below it, of a Markdown page."""
    parts = re.split(rf"^{'#' * level} (.*)$", page, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def first_cells(page):
    """The names in the first column of the tables, without marks."""
    return {re.sub(r"[`\\]", "", cell) for cell in re.findall(r"^\| (?:<a [^>]*></a>)?`([^`|]+)` \|", page, flags=re.M)}


# ---- the checks ----


def check_options(helps, page, manuals):
    """helps: subcommand -> what --help prints; manuals: subcommand -> its manual page as text."""
    sections = {name.removeprefix("liana "): text for name, text in sections_of(page, 2).items()}
    wrong = compare("subcommands.md", set(helps), set(sections))
    for name, text in helps.items():
        options = options_of_help(text)
        if not options:
            wrong.append(f"liana {name} --help lists no option")
        shown = {cell.split()[0] for cell in first_cells(sections.get(name, ""))}
        wrong += compare(f"subcommands.md, liana {name}", options, shown)
        body = manuals.get(name, "").partition("\nOPTIONS\n")[2].partition("\nEXIT STATUS\n")[0]
        in_manual = set(re.findall(r"^ {7}(--?[A-Za-z][a-z0-9-]*)", body, flags=re.M))
        wrong += compare(f"liana-{name}(1)", options, in_manual)
    return wrong


def check_environment(sources, page):
    return compare("environment.md", variables_read(sources) | READ_BY_LIBRARIES, first_cells(page))


def check_exit_codes(sources, page):
    """Numbers of the table, and no other number where a process ends."""
    rows = set(re.findall(r"^LIANA__EXIT\(\w+, (\d+),", sources["src/cli/exit_codes.def"], flags=re.M))
    wrong = compare("exit-codes.md", rows, first_cells(page))
    for path, text in sources.items():
        if path.startswith("src/cli/"):
            for number in re.findall(r"\b(?:_exit|exit)\((\d+)|\bexit_code = (\d+)", without_comments(text)):
                number = "".join(number)
                if number not in rows:
                    wrong.append(f"{path}: ends with {number}, which src/cli/exit_codes.def has not")
    return wrong


def check_functions(symbols, pages):
    """Every symbol of the library has a page of section 3."""
    if len(symbols) < 300:
        return [f"only {len(symbols)} public functions were found; are they still found?"]
    return [f"{name} has no manual page" for name in sorted(symbols - pages)]


# ---- what there is ----


def run(*words):
    return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout


def read_sources(root):
    paths = [*root.glob("src/**/*.[ch]"), root / "include/liana/status.h", *root.glob("src/**/*.def"), *root.glob("bindings/**/*.py")]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def manual_text(path):
    environment = dict(os.environ, MANWIDTH="200", LC_ALL="C.UTF-8")
    shown = subprocess.run(["man", "-l", str(path)], check=True, stdout=subprocess.PIPE, env=environment, text=True).stdout
    return re.sub(r".\x08", "", shown)


def check(root, build):
    liana, reference = str(build / "liana"), root / "docs" / "reference"
    sources = read_sources(root)
    rows = re.findall(r"^LIANA__SUBCOMMAND\(\w+, (\w+)\)", sources["src/cli/subcommands.def"], flags=re.M)
    names = [name.replace("_", "-") for name in rows]
    helps = {name: run(liana, name, "--help") for name in names}
    page = {path.stem: path.read_text(encoding="utf-8") for path in reference.glob("*.md")}
    manuals = {name: manual_text(build / "manual" / "man1" / f"liana-{name}.1") for name in names}
    wrong = check_options(helps, page["subcommands"], manuals)
    wrong += check_environment(sources, page["environment"])
    wrong += check_exit_codes(sources, page["exit-codes"])
    wrong += compare("events.md", events_printed(sources), first_cells(page["events"]))
    library = next(build.glob("libliana.so"), build / "libliana.a")
    flags = ["-D"] if library.suffix == ".so" else []
    symbols = set(re.findall(r" [TDR] (liana_(?!_)\w+)", run("nm", *flags, "--defined-only", str(library))))
    pages = {path.name[:-2] for path in (build / "manual" / "man3").glob("*.3")}
    wrong += check_functions(symbols, pages)
    return wrong, f"{len(names)} subcommands, {len(first_cells(page['environment']))} variables, {len(symbols)} functions"


# ---- that it catches ----


HEADER = """/* x.h - things of x. */
#define LIANA_X_MAP(X) \\
    X(ONE, "the first") \\
    X(TWO, "the second")
typedef enum liana_x {
#define LIANA_X_ENUM(name, text) LIANA_##name,
    LIANA_X_MAP(LIANA_X_ENUM)
#undef LIANA_X_ENUM
} liana_x;

/* ---- counting ---- */

/* Counts. Returns how many:
 *
 *     liana_count(x);
 */
LIANA_API LIANA_MUST_USE int liana_count(const liana_x *x /* never NULL */,
                                         int64_t limit);
LIANA_API int liana_count_again(const liana_x *x);

#ifdef __cplusplus
int not_of_c(void);
#endif
LIANA_DEPRECATED("since 1.1: use liana_count") LIANA_API int liana_old(void);
"""


def test_reader():
    """What scripts/reference/headers.py reads of a small header; a declaration that it does not know is an error."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "reference"))
    import headers
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.h"
        path.write_text(HEADER, encoding="utf-8")
        read, by_name = headers.read_all(path.parent)
        assert list(by_name) == ["LIANA_X_MAP", "liana_x", "liana_count", "liana_count_again", "liana_old"], list(by_name)
        assert read[0].title == "things of x.", read[0].title
        assert by_name["liana_x"].constants == ["LIANA_ONE", "LIANA_TWO"], by_name["liana_x"].constants
        assert "LIANA_TWO, /* the second */" in by_name["liana_x"].text
        count = by_name["liana_count"]
        assert count.section == "counting" and headers.sentence(count.doc) == "Counts", count
        assert headers.blocks(count.doc) == [("text", "Counts. Returns how many:"), ("code", "liana_count(x);")]
        assert count.text.endswith("int64_t limit);") and by_name["liana_count_again"].doc == count.doc
        assert by_name["liana_old"].doc == "", by_name["liana_old"].doc
        path.write_text(HEADER + "\n@ nothing of C;\n", encoding="utf-8")
        try:
            headers.read_all(path.parent)
        except ValueError as error:
            assert "nothing of C" in str(error)
        else:
            raise AssertionError("a declaration that is none is not refused")


def self_test():
    def catches(wrong, *words):
        assert len(wrong) == 1 and all(word in wrong[0] for word in words), wrong

    help_text = "Usage: liana x\n\nX.\n\nOptions:\n  --out DIR  a folder\n  -n         none\n  --help     print this help\n"
    good = "## liana x\n\n| option | meaning |\n|---|---|\n| `--out DIR` | a folder |\n| `-n` | none |\n| `--help` | help |\n"
    manual = "OPTIONS\n       --out DIR\n              a\n       -n     none\n       --help help\n\nEXIT STATUS\n       0\n"
    manual = "\n" + manual
    assert check_options({"x": help_text}, good, {"x": manual}) == []
    catches(check_options({"x": help_text}, good.replace("| `-n` | none |\n", ""), {"x": manual}), "lacks -n", "subcommands.md")
    catches(check_options({"x": help_text}, good + "| `--in` | no |\n", {"x": manual}), "--in, which there is not")
    catches(check_options({"x": help_text}, good, {"x": manual.replace("--out DIR", "")}), "liana-x(1)", "--out")
    row = "| `A_B` | b |\n| `HOME` | h |\n| `HTTPS_PROXY` | p |\n| `NO_PROXY` | p |\n"
    source = {"a.c": 'static const char *const names[] = {"A_B"}; /* "C_D" */ x = getenv("HOME");', "b.c": 'f("E_F");'}
    assert check_environment(source, row) == []
    catches(check_environment({**source, "c.c": 'getenv("NEW")'}, row), "lacks NEW")
    catches(check_environment(source, row + "| `OLD` | o |\n"), "OLD, which there is not")
    codes = {"src/cli/exit_codes.def": 'LIANA__EXIT(DONE, 0, "done")\nLIANA__EXIT(FAILED, 1, "failed")\n', "src/cli/a.c": "_exit(1);"}
    table = "| `0` | done |\n| `1` | failed |\n"
    assert check_exit_codes(codes, table) == []
    catches(check_exit_codes({**codes, "src/cli/b.c": "x.exit_code = 3;"}, table), "ends with 3")
    catches(check_exit_codes(codes, table[:17]), "lacks 1")
    names = {f"liana_{number}" for number in range(300)}
    assert check_functions(names, names) == []
    catches(check_functions(names, names - {"liana_7"}), "liana_7 has no manual page")
    events = {"a.c": 'e = liana__session_event(i, "one"); f = liana__session_event(i, b ? "two" : "three");'}
    assert events_printed(events) == {"one", "two", "three"}, events_printed(events)
    test_reader()
    print("every difference is caught")


def main():
    if sys.argv[1] == "--self-test":
        self_test()
        return 0
    wrong, counted = check(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{counted}: {len(wrong)} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
