"""Compares files and folders byte by byte, but for what masks take out, and says where they differ first."""
import json
import os


def first_line(base, today):
    """The number of the first line that differs, and what both have there."""
    ours, theirs = base.splitlines(), today.splitlines()
    for number, (a, b) in enumerate(zip(ours, theirs), 1):
        if a != b:
            return number, a, b
    number = min(len(ours), len(theirs))
    missing = b"(the file ends)"
    return (number + 1, ours[number] if number < len(ours) else missing,
            theirs[number] if number < len(theirs) else missing)


def tensors_of(data):
    """What a safetensors file holds: {name: (type and shape, bytes)}."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    named = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            named[name] = (entry["dtype"], entry["shape"], data[8 + size + begin:8 + size + end])
    return named


def tensor_difference(base, today):
    try:
        ours, theirs = tensors_of(base), tensors_of(today)
    except (ValueError, KeyError):
        return None
    only = sorted(set(ours) ^ set(theirs))
    if only:
        return f"tensors that one of them has: {', '.join(only[:5])}"
    differing = [name for name in ours if ours[name] != theirs[name]]
    if not differing:
        return "the tensors are equal; the header differs"
    return f"{len(differing)} of {len(ours)} tensors differ, first '{differing[0]}'"


def shorten(line, at=0):
    text = line.decode("utf-8", "backslashreplace")
    begin = max(0, at - 80)
    return ("..." if begin else "") + text[begin:begin + 200] + ("..." if len(text) > begin + 200 else "")


def describe(base, today):
    """Lines that say where two files, of which the bytes differ, do so first."""
    offset = next((i for i, (a, b) in enumerate(zip(base, today)) if a != b), min(len(base), len(today)))
    if b"\0" in base[:4096] or b"\0" in today[:4096]:
        lines = [f"first at byte {offset}; {len(base)} and {len(today)} bytes"]
        tensors = tensor_difference(base, today)
        return lines + ([tensors] if tensors else [])
    number, a, b = first_line(base, today)
    column = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
    return [f"first at line {number}", f"base:  {shorten(a, column)}", f"today: {shorten(b, column)}"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def list_files(folder):
    found = []
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            if os.path.isfile(path) and not os.path.islink(path):
                found.append(os.path.relpath(path, folder))
    return sorted(found)


def compare_files(base, today, masks):
    """None where the files are the same; else lines that say where they differ."""
    ours, theirs = read(base), read(today)
    if ours == theirs:
        return None
    name = os.path.basename(base)
    ours, theirs = masks.apply(name, ours), masks.apply(name, theirs)
    return None if ours == theirs else describe(ours, theirs)


def compare_folders(base, today, masks):
    """The number of files that are the same, and a list of differences: (what, lines)."""
    ours, theirs = list_files(base), list_files(today)
    same, differences = 0, []
    for name in sorted(set(ours) | set(theirs)):
        if name not in theirs or name not in ours:
            side = "base" if name in ours else "today"
            differences.append((os.path.join(base if name in ours else today, name), [f"only {side} writes this file"]))
            continue
        paths = os.path.join(base, name), os.path.join(today, name)
        lines = compare_files(*paths, masks)
        if lines is None:
            same += 1
        else:
            differences.append((f"{paths[0]}\n  and   {paths[1]}", lines))
    return same, differences
