#!/usr/bin/env python3
"""Writes the reference from what the program itself says (`liana list --json`) and from the public headers.

    scripts/reference/reference.py --manual FOLDER LIANA INCLUDE    manual pages: FOLDER/man1/liana.1, ...
    scripts/reference/reference.py --pages FOLDER LIANA INCLUDE     Markdown pages: FOLDER/configuration.md, ...
"""
import pathlib
import shutil
import sys

import headers
import manual
import pages
import tables


def main(arguments):
    if len(arguments) != 4 or arguments[0] not in ("--manual", "--pages"):
        sys.exit(__doc__)
    what, folder, liana = arguments[0], pathlib.Path(arguments[1]), arguments[2]
    all_tables = tables.read_tables(liana)
    all_headers, by_name = headers.read_all(pathlib.Path(arguments[3]))
    # Pages of names that are gone would stay.
    shutil.rmtree(folder, ignore_errors=True)
    if what == "--manual":
        manual.write(folder, tables.version(liana), all_tables, all_headers, by_name)
        return
    for name, text in pages.make(all_tables, all_headers, by_name).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
