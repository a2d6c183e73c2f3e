"""The program's own tables, as `liana list --json` prints them: kind -> {"doc", "items", "sections"}."""
import json
import subprocess


def read_tables(liana):
    printed = subprocess.run([*liana, "list", "--json"], check=True, stdout=subprocess.PIPE).stdout
    tables = {}
    for line in printed.decode("utf-8").splitlines():
        table = json.loads(line)
        tables[table["kind"]] = table
    return tables


def version(liana):
    """ "0.9.1", without the word before it."""
    return subprocess.run([*liana, "version"], check=True, stdout=subprocess.PIPE).stdout.decode().split("\n")[0].split()[-1]


def facts_of(field):
    """What is known of a key or an option besides its doc: [(name, text)]; None where the name says it all."""
    facts = [("type", field.get("type", ""))]
    if field.get("words"):
        facts[0] = ("one of", ", ".join(field["words"]))
    if field.get("range"):
        facts.append(("range", field["range"]))
    if field.get("required") or field.get("default") == "required":
        facts.append(("required", None))
    else:
        facts.append(("default", field.get("default", "")))
    if "resume" in field:
        facts.append(("may change when a run goes on", field["resume"]))
    if field.get("each_process"):
        facts.append(("may differ between processes", "yes"))
    if field.get("in_c"):
        facts.append(("in C", field["in_c"]))
    return [(name, text) for name, text in facts if text != ""]
