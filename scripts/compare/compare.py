#!/usr/bin/env python3
"""Runs the cases with two builds, and compares all that they leave. Called by compare_commits.sh, which says how.

A case runs in the same folder for both builds, one after the other, so that paths in files and messages are equal. What
the base gives is kept, and used again while the case, its helpers and the drawn data are the same."""
import argparse
import concurrent.futures
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

import files
import kept
import masks as masks_of
import tests_run

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "cases")


ATTEMPTS = 4  # of a case that fails
SKIPPED = 77


class Skipped(Exception):
    """A case cannot run here."""


class Side:
    def __init__(self, name, build, tree, folder):
        self.name, self.build, self.tree = name, os.path.abspath(build), os.path.abspath(tree)
        self.results = os.path.join(folder, "results", name)


class Setting:
    """What all cases share."""

    def __init__(self, options):
        self.folder = os.path.abspath(options.folder)
        self.base = Side("base", options.base_build, options.base_tree, self.folder)
        self.today = Side("today", options.build, options.tree, self.folder)
        self.drawn = os.path.join(self.folder, "drawn")
        self.shared = os.path.abspath(os.path.join(options.tree, "..", "shared"))
        self.keeper = os.path.join(self.folder, "keep_files.so")
        self.masks = masks_of.Masks(HERE)
        self.limit, self.anew = options.limit, options.anew

    def environment(self, side, keep, dump, temporary):
        own = {name: value for name, value in os.environ.items() if not name.startswith("LIANA_")}
        own.update(PATH=side.build + ":" + own["PATH"], BIN=side.build, TREE=side.tree, BASE_BIN=self.base.build,
                   BASE_TREE=self.base.tree, TOOLS=HERE,
                   DRAWN=self.drawn, SHARED=self.shared, TMPDIR=temporary, LC_ALL="C.UTF-8", LIANA_THREADS="2",
                   XDG_CACHE_HOME=os.path.join(temporary, "cache"), LIANA_PEERS="", COMPARE_KEEP=keep, LIANA_DUMP=dump,
                   COMPARE_DUMP=dump,                   LD_PRELOAD=self.keeper)
        return own


def make_empty(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)


def list_cases():
    """[(section, case)], in the order of the files."""
    found = []
    for entry in sorted(os.listdir(CASES)):
        with open(os.path.join(CASES, entry), encoding="utf-8") as file:
            names = re.findall(r"^case_(\w+)\(\)", file.read(), re.M)
        found += [(entry[:-3], name) for name in names]
    return found


def digest_of(section, case):
    """Of what a case's results depend on, besides the build: its text, its section's and the helpers'."""
    text = b""
    for entry in ("helpers.sh", section + ".sh", "draw.sh", "../programs/base/doors.c"):
        with open(os.path.join(CASES, entry), "rb") as file:
            text += file.read()
    return hashlib.sha256(text + case.encode()).hexdigest()


def run_shell(setting, side, name, script, limit):
    """Runs a script in an empty folder; (status, what it said, seconds). What it leaves becomes the side's results."""
    work, extra = os.path.join(setting.folder, "work", name), os.path.join(setting.folder, "work", name + ".more")
    make_empty(work)
    make_empty(extra)
    keep, temporary = os.path.join(extra, "keep"), os.path.join(extra, "tmp")
    os.makedirs(keep)
    os.makedirs(temporary)
    environment = setting.environment(side, keep, os.path.join(extra, "dump"), temporary)
    begin = time.monotonic()
    try:
        done = subprocess.run(["timeout", "-k", "5", str(limit), "sh", "-euc", script], cwd=work, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        status, said = done.returncode, done.stdout.decode("utf-8", "replace")
    finally:
        target = os.path.join(side.results, name)
        shutil.rmtree(target, ignore_errors=True)
        shutil.rmtree(target + ".kept", ignore_errors=True)
        os.makedirs(side.results, exist_ok=True)
        os.rename(work, target)
        kept.gather(keep, target + ".kept", setting.masks)
        shutil.rmtree(extra, ignore_errors=True)
    return status, said, time.monotonic() - begin


def run_case(setting, side, section, case):
    """None, or the lines of a failure."""
    name = f"{section}.{case}"
    stamp = os.path.join(side.results, name + ".digest")
    digest = digest_of(section, case)
    if side is setting.base and not setting.anew and os.path.exists(stamp):
        if files.read(stamp).decode() == digest:
            return None, 0.0
    if os.path.exists(stamp):
        os.remove(stamp)
    script = f'. "{CASES}/helpers.sh"; . "{CASES}/{section}.sh"; case_{case}'
    for attempt in range(ATTEMPTS):
        status, said, seconds = run_shell(setting, side, name, script, setting.limit)
        if status == SKIPPED:
            raise Skipped(said.strip())
        if status == 0:
            break
        failure = [f"{side.name} fails with {status}"] + said.splitlines()[-12:]
        if attempt == ATTEMPTS - 1:
            return failure, seconds
        print(f"note: {name}: {' | '.join(failure)}; it is tried again", flush=True)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(digest)
    return None, seconds


def compare_case(setting, section, case):
    """(name, files that are equal, differences, seconds of both sides), or None where the case is left out."""
    name = f"{section}.{case}"
    seconds = []
    for side in (setting.base, setting.today):
        try:
            failure, spent = run_case(setting, side, section, case)
        except Skipped as reason:
            print(f"{name}: skipped: {reason}", flush=True)
            return None
        seconds.append(spent)
        if failure:
            return name, 0, [(name, failure)], seconds
    base, today = (os.path.join(side.results, name) for side in (setting.base, setting.today))
    same, differences = files.compare_folders(base, today, setting.masks)
    graphs, others = kept.compare_sets(base + ".kept", today + ".kept",
                                       lambda what, made: setting.masks.allow(what, name, made))
    return name, same + graphs, differences + others, seconds


def report(result, shown):
    name, same, differences, seconds = result
    verdict = "same" if not differences else f"{len(differences)} DIFFERENCES"
    print(f"{name}: {verdict}, {same} files are equal ({', '.join(f'{one:.0f}' for one in seconds)} s)")
    for what, lines in differences[:shown]:
        print(f"  differs: {what}")
        for line in lines:
            print(f"    {line}")
    if len(differences) > shown:
        print(f"  and {len(differences) - shown} more")
    sys.stdout.flush()


def draw(setting):
    """The data that cases share, drawn once by the base: their files' times stand in checkpoints."""
    stamp = os.path.join(setting.folder, "drawn.digest")
    digest = hashlib.sha256(files.read(os.path.join(CASES, "draw.sh"))).hexdigest()
    if os.path.exists(stamp) and files.read(stamp).decode() == digest:
        return
    make_empty(setting.drawn)
    script = os.path.join(CASES, "draw.sh")
    environment = dict(os.environ, PATH=setting.base.build + ":" + os.environ["PATH"])
    subprocess.run(["sh", "-eu", script], cwd=setting.drawn, env=environment, stdout=subprocess.DEVNULL, check=True)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(digest)


def build_keeper(setting):
    source = os.path.join(HERE, "keep_files.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", source, "-o", setting.keeper, "-ldl"], check=True)


def choose(wanted):
    """Cases by their section's or their own name; all where none is named."""
    every = list_cases()
    if not wanted:
        return every, True
    for word in wanted:
        if word != "tests" and not any(word in (section, case, f"{section}.{case}") for section, case in every):
            sections = sorted({section for section, _ in every})
            raise SystemExit(f"compare: there is no section or case '{word}'; sections: {', '.join(sections)}, tests")
    chosen = [(section, case) for section, case in every
              if any(word in (section, case, f"{section}.{case}") for word in wanted)]
    return chosen, "tests" in wanted


def read_options():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--base-build", "--base-tree", "--build", "--tree", "--folder"):
        parser.add_argument(name, required=True)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=int, default=300, help="seconds that a case may take with one build")
    parser.add_argument("--shown", type=int, default=5, help="differences that are printed of each case")
    parser.add_argument("--anew", action="store_true", help="run the base's cases again")
    parser.add_argument("--draw", action="store_true", help="only draw the data")
    parser.add_argument("wanted", nargs="*", help="sections or cases")
    return parser.parse_args()


def take_folder(folder):
    """The results are one comparison's at a time. What is returned must stay open."""
    lock = open(os.path.join(folder, "lock"), "w", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SystemExit(f"compare: another comparison runs in '{folder}'; wait, or name another --folder") from None
    return lock


def main():
    options = read_options()
    setting = Setting(options)
    lock = take_folder(setting.folder)
    chosen, with_tests = choose(options.wanted)
    draw(setting)
    if options.draw:
        return 0
    build_keeper(setting)
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in filter(None, pool.map(lambda pair: compare_case(setting, *pair), chosen)):
            report(done, options.shown)
            results.append(done)
    if with_tests:
        for done in tests_run.compare_tests(setting, options.jobs, run_shell):
            report(done, options.shown)
            results.append(done)
    differing = [name for name, _, differences, _ in results if differences]
    print(f"{sum(same for _, same, _, _ in results)} files of {len(results)} cases are equal; "
          f"{len(differing)} cases differ{': ' if differing else ''}{', '.join(differing)}")
    lock.close()
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
