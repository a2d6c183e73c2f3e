"""Test programs of both builds: what they compile and save is compared as sets, since tests may be moved, joined and
added to. Each graph, weights file and history that the base's programs make must be made by one of today's as well."""
import concurrent.futures
import os
import shutil

import files
import kept

HERE = os.path.dirname(os.path.abspath(__file__))


def read_names():
    """The programs of tests.txt, and those of which graphs alone are compared."""
    with open(os.path.join(HERE, "tests.txt"), encoding="utf-8") as file:
        words = [word for line in file if not line.startswith("#") for word in line.split()]
    return [word.split(":")[0] for word in words], {word.split(":")[0] for word in words if ":" in word}


def keep_common(folder, again):
    """Leaves only what both runs have made: what depends on time or chance is none of the base's results."""
    ours, theirs = kept.read_set(folder), kept.read_set(again)
    for entry, path in ours.items():
        if entry not in theirs:
            os.remove(path)
    shutil.rmtree(again)


def run_test(setting, side, name, run_shell):
    """Runs one program, of the base twice; (its failure or "", seconds)."""
    program, case = os.path.join(side.build, name), f"tests.{name}"
    results = os.path.join(side.results, case)
    if not os.path.exists(program):
        shutil.rmtree(results + ".kept", ignore_errors=True)
        return "is not there", 0.0
    stamp, is_base = results + ".digest", side is setting.base
    if is_base and not setting.anew and os.path.exists(stamp):
        return files.read(stamp).decode(), 0.0
    script = f"exec '{program}' >/dev/null"
    status, said, seconds = run_shell(setting, side, case, script, setting.limit)
    shutil.rmtree(results, ignore_errors=True)
    if is_base:
        os.replace(results + ".kept", results + ".first")
        run_shell(setting, side, case, script, setting.limit)
        shutil.rmtree(results, ignore_errors=True)
        keep_common(results + ".kept", results + ".first")
    failure = f"fails with {status}: {' '.join(said.split())[-200:]}" if status else ""
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(failure)
    return failure, seconds


def read_made(side, name, graphs_only):
    made = kept.read_set(os.path.join(side.results, f"tests.{name}.kept"))
    return {entry: path for entry, path in made.items() if not graphs_only or entry[0].endswith((".txt", ".mlir"))}


def note_failures(names, base, today):
    for name, (ours, _), (theirs, _) in zip(names, base, today):
        if ours and theirs:
            print(f"note: {name}: both fail, or are not there: {ours}")
        elif ours or theirs:
            print(f"note: {name}: {'base ' + ours if ours else 'today ' + theirs}")


def compare_tests(setting, jobs, run_shell):
    """One result for each program of the base: what it makes and none of today's makes. Programs that fail, or that one
    of both lacks, are listed."""
    names, graphs_only = read_names()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        base, today = (list(pool.map(lambda name, side=side: run_test(setting, side, name, run_shell), names))
                       for side in (setting.base, setting.today))
    made = {}
    for name in names:
        made.update(read_made(setting.today, name, False))
    for index, name in enumerate(names):
        ours = read_made(setting.base, name, name in graphs_only)
        own = read_made(setting.today, name, name in graphs_only)
        missing = set(ours) - set(made)

        def allow(what, made, case=f"tests.{name}"):
            return what == "more" or setting.masks.allow(what, case, made)

        differences = [] if not missing else kept.pair(missing, set(own) - set(ours), ours, own, allow)
        yield f"tests.{name}", len(set(ours) & set(made)), differences, [base[index][1], today[index][1]]
    note_failures(names, base, today)
