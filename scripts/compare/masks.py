"""Masks: what may differ between two files. Read from masks.txt and allowed.txt; those say what the rows mean."""
import csv
import fnmatch
import io
import os
import re


class Mask:
    def __init__(self, files, find=None, put="", drop=None, skip=False):
        self.files, self.put, self.drop, self.skip = files, put, drop, skip
        self.find = re.compile(find, re.M) if find is not None else None

    def concerns(self, name):
        return any(fnmatch.fnmatch(name, pattern) for pattern in self.files)

    def apply(self, text):
        if self.find:
            return self.find.sub(self.put, text)
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
            if not colon or key not in ("files", "find", "put", "drop", "skip"):
                raise SystemExit(f"{path}:{number}: a row has files, find and put, files and drop, or files and skip")
            row[key] = value[1:] if value.startswith(" ") else value
        elif row:
            masks.append(Mask(row["files"].split(), row.get("find"), row.get("put", ""), row.get("drop"),
                              "skip" in row))
            row = {}
    return masks


class Masks:
    """All of them. What was used is counted, so that a row without use can be seen."""

    def __init__(self, folder):
        self.masks = read(os.path.join(folder, "masks.txt")) + read(os.path.join(folder, "allowed.txt"))

    def apply(self, name, data):
        """Bytes with what may differ taken out; other bytes where the file is no text."""
        masks = [mask for mask in self.masks if mask.concerns(name)]
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
