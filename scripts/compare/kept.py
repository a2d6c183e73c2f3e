"""Sets of files that were kept while something ran (keep_files.c): graphs, weights, histories. Order and number say
nothing, since processes and threads compile in any order. So each content is kept once, under its name and checksum."""
import hashlib
import os
import re

import files

LARGE = 8 << 20  # bytes; of larger files only the checksum is kept


def gather(folder, target, masks):
    """Moves what was kept in a folder, masked, to TARGET/NAME~CHECKSUM."""
    os.makedirs(target, exist_ok=True)
    for entry in os.listdir(folder):
        name = re.sub(r"^\d+-\d+-", "", entry)
        path = os.path.join(folder, entry)
        contents = masks.apply(name, files.read(path))
        target_path = os.path.join(target, f"{name}~{hashlib.sha256(contents).hexdigest()[:16]}")
        if not os.path.exists(target_path):
            with open(target_path, "wb") as file:
                file.write(contents if len(contents) <= LARGE else b"(a large file)\n")
        os.remove(path)
    os.rmdir(folder)


def read_set(folder):
    """{(name, checksum): path}."""
    if not os.path.isdir(folder):
        return {}
    return {tuple(entry.rsplit("~", 1)): os.path.join(folder, entry) for entry in sorted(os.listdir(folder))}


def by_name(entries):
    named = {}
    for name, digest in sorted(entries):
        named.setdefault(name, []).append(digest)
    return named


def pair(missing, more, ours, theirs, allow):
    """Differences of contents that only one side has: by name, the first with the first. Today may have
    "more" or "others" of the names for which allow(what, name) is true."""
    differences = []
    left, right = by_name(missing), by_name(more)
    for name in sorted(set(left) | set(right)):
        if allow("others", name):
            continue
        a, b = left.get(name, []), right.get(name, [])
        for i in range(max(len(a), len(b))):
            if i < len(a) and i < len(b):
                paths = ours[name, a[i]], theirs[name, b[i]]
                lines = files.describe(files.read(paths[0]), files.read(paths[1]))
                differences.append((f"{paths[0]}\n  and   {paths[1]}", lines))
            elif i < len(a):
                differences.append((ours[name, a[i]], ["only base has this"]))
            elif not allow("more", name):
                differences.append((theirs[name, b[i]], ["only today has this"]))
    return differences


def compare_sets(base, today, allow):
    """The number of equal contents, and differences in either direction."""
    ours, theirs = read_set(base), read_set(today)
    missing, more = set(ours) - set(theirs), set(theirs) - set(ours)
    return len(set(ours) & set(theirs)), pair(missing, more, ours, theirs, allow)
