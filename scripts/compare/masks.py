"""Masks: what may differ between two files. Read from masks.txt and allowed.txt; those say what the rows mean."""
import csv
import fnmatch
import io
import os
import re


class Mask:
    """One row: its files, and one of: a pattern to replace, a column to drop, lines to sort, a file to skip, kept
    files that today may have more of, or others."""

    def __init__(self, row):
        self.files, self.put, self.drop = row["files"].split(), row.get("put", ""), row.get("drop")
        self.sorts, self.skip = "sort" in row, "skip" in row
        self.find = re.compile(row["find"], re.M) if "find" in row else None
        self.sets, self.cases = {key for key in ("more", "others") if key in row}, row.get("cases", "*").split()

    def allows(self, what, case, name):
        """Whether today may keep more of these files than the base, or others in their place."""
        fits = any(fnmatch.fnmatch(case, pattern) for pattern in self.cases)
        return bool(self.sets & {what, "others"}) and fits and self.concerns(name)

    def concerns(self, name):
        return any(fnmatch.fnmatch(name, pattern) for pattern in self.files)

    def apply(self, text):
        if self.find:
            return self.find.sub(self.put, text)
        if self.sorts:
            return "\n".join(sorted(text.splitlines()))
        rows = list(csv.reader(io.StringIO(text)))
        if not rows or self.drop not in rows[0]:
            return text
        column = rows[0].index(self.drop)
        return "".join(",".join(row[:column] + row[column + 1:]) + "\n" for row in rows)


def read(path):
    """The masks of a file, in order."""
    masks, row = [], {}
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines() + [""]
    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            continue
        key, colon, value = line.partition(":")
        if line.strip():
            if not colon or key not in ("files", "find", "put", "drop", "skip", "sort", "more", "others",
                                        "cases"):
                raise SystemExit(f"{path}:{number}: expected files and cases, and one of find (with put), drop, skip, sort, more, others")
            row[key] = value[1:] if value.startswith(" ") else value
        elif row:
            masks.append(Mask(row))
            row = {}
    return masks


class Masks:
    """All of them; lines are sorted when all else is masked."""

    def __init__(self, folder):
        rows = read(os.path.join(folder, "masks.txt")) + read(os.path.join(folder, "allowed.txt"))
        self.masks = sorted(rows, key=lambda mask: mask.sorts)

    def apply(self, name, data):
        """Bytes with what may differ taken out; other bytes where the file is no text."""
        masks = [mask for mask in self.masks if mask.concerns(name) and not mask.sets]
        if not masks:
            return data
        if any(mask.skip for mask in masks):
            return b""
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return data
        for mask in masks:
            text = mask.apply(text)
        return text.encode("utf-8")

    def allow(self, what, case, name):
        return any(mask.allows(what, case, name) for mask in self.masks)
