"""Test programs of both builds: what they compile and save is compared as sets, since tests may be moved, joined and added
to. Each graph, weights file and history that the base's programs make must be made by one of today's as well."""
import concurrent.futures
import os
import shutil

import files
import kept

HERE = os.path.dirname(os.path.abspath(__file__))


def read_names():
    """The programs of tests.txt."""
    with open(os.path.join(HERE, "tests.txt"), encoding="utf-8") as file:
        return [word for line in file if not line.startswith("#") for word in line.split()]


def run_test(setting, side, name, run_shell):
    """Runs one program; (its failure or None, seconds)."""
    program = os.path.join(side.build, name)
    case = f"tests.{name}"
    if not os.path.exists(program):
        return f"{side.name} has no {name}", 0.0
    stamp = os.path.join(side.results, case + ".digest")
    if side is setting.base and not setting.anew and os.path.exists(stamp):
        return files.read(stamp).decode() or None, 0.0
    status, said, seconds = run_shell(setting, side, case, f"exec '{program}' >/dev/null", setting.limit)
    shutil.rmtree(os.path.join(side.results, case), ignore_errors=True)
    failure = f"{side.name}: {name} fails with {status}: {' '.join(said.split())[-200:]}" if status else ""
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(failure)
    return failure or None, seconds


def run_all(setting, side, names, jobs, run_shell):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(lambda name: run_test(setting, side, name, run_shell), names))


def union(side, names):
    made = {}
    for name in names:
        made.update(kept.read_set(os.path.join(side.results, f"tests.{name}.kept")))
    return made


def compare_tests(setting, jobs, run_shell):
    """One result for each program of the base: what it makes and none of today's makes; and one for those that fail or are
    missing on one side."""
    names = read_names()
    notes, seconds = [], {}
    for side in (setting.base, setting.today):
        for name, (failure, spent) in zip(names, run_all(setting, side, names, jobs, run_shell)):
            seconds[side.name, name] = spent
            if failure:
                notes.append(failure)
    today = union(setting.today, names)
    for name in names:
        ours = kept.read_set(os.path.join(setting.base.results, f"tests.{name}.kept"))
        own = kept.read_set(os.path.join(setting.today.results, f"tests.{name}.kept"))
        missing = set(ours) - set(today)
        more = set(own) - set(ours)
        differences = [] if not missing else kept.pair(missing, more, ours, own)
        yield (f"tests.{name}", len(set(ours) & set(today)), differences,
               [seconds["base", name], seconds["today", name]])
    for note in notes:
        print(f"note: {note}")
