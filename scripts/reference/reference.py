#!/usr/bin/env python3
"""Writes the reference from what the program itself says (`liana list --json`) and from the public headers.

    scripts/reference/reference.py --manual FOLDER INCLUDE LIANA...    manual pages: FOLDER/man1/liana.1, ...
    scripts/reference/reference.py --pages FOLDER INCLUDE LIANA...     Markdown pages: FOLDER/configuration.md, ...
    scripts/reference/reference.py --check FOLDER INCLUDE LIANA...     says which of these pages would change

LIANA... are the words that run the command, an emulator before it for instance. Pages that no longer have a subject are removed. Files in FOLDER that this script has not written stay.
"""
import pathlib
import shutil
import sys

import headers
import manual
import pages
import tables


def made_before(folder):
    """The pages in the folder that this script has written, by name."""
    texts = {}
    for path in folder.glob("**/*.md"):
        text = path.read_text(encoding="utf-8")
        if text.startswith(pages.MARK):
            texts[path.relative_to(folder).as_posix()] = text
    return texts


def write_pages(folder, made):
    for name in made_before(folder):
        if name not in made:
            (folder / name).unlink()
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def differences(folder, made):
    before = made_before(folder)
    return sorted(name for name in {*before, *made} if before.get(name) != made.get(name))


def main(arguments):
    if len(arguments) < 4 or arguments[0] not in ("--manual", "--pages", "--check"):
        sys.exit(__doc__)
    what, folder, liana = arguments[0], pathlib.Path(arguments[1]), arguments[3:]
    all_tables = tables.read_tables(liana)
    all_headers, by_name = headers.read_all(pathlib.Path(arguments[2]))
    if what == "--manual":
        shutil.rmtree(folder, ignore_errors=True)
        count = manual.write(folder, tables.version(liana), all_tables, all_headers, by_name)
        print(f"{count} manual pages in {folder}")
        return 0
    made = pages.make(all_tables, all_headers, by_name)
    if what == "--pages":
        write_pages(folder, made)
        print(f"{len(made)} pages in {folder}")
        return 0
    changed = differences(folder, made)
    for name in changed:
        print(f"{folder / name} is not what the program and its headers say; make reference writes it", file=sys.stderr)
    print(f"{len(made)} pages of the reference, {len(changed)} to be written again")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
