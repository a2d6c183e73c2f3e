#!/usr/bin/env python3
"""Prints numbers of two trees side by side: count.py BASE TODAY. How each is counted stands beside it and below."""
import collections
import os
import re
import sys

TOKEN = re.compile(r"""//(?:\\\n|[^\n])*|/\*.*?\*/|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'""", re.S)
WORDS = {"leaf": "leaf|leaves", "shard": "shards?", "microbatch": "microbatch(?:es)?", "part": "parts?",
         "slice": "slices?", "replica": "replicas?"}


def list_sources(tree, *rooms, endings=(".c", ".h")):
    found = []
    for room in rooms:
        for where, _, names in os.walk(os.path.join(tree, room)):
            found += [os.path.join(where, name) for name in names if name.endswith(endings)]
    return sorted(found)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def without_comments(text):
    """Comments become their line ends; strings and characters, in which a comment may seem to begin, stay."""
    def put(match):
        token = match.group()
        return " " + "\n" * token.count("\n") if token[0] == "/" else token
    return TOKEN.sub(put, text)


def count_code(tree, *rooms, endings=(".c", ".h", ".def")):
    return sum(1 for path in list_sources(tree, *rooms, endings=endings)
               for line in without_comments(read(path)).splitlines() if line.strip())


def list_functions(tree):
    """Functions that the public headers declare: a name before '(' outside of braces, parentheses and typedefs."""
    names = set()
    for path in list_sources(tree, "include/liana"):
        text = without_directives(without_comments(read(path))).replace('extern "C" {', "")
        for statement, _ in statements(text):
            word = re.search(r"(liana_[a-z]\w*)\(", statement)
            if word and not statement.startswith("typedef"):
                names.add(word.group(1))
    return names


def public_functions(tree):
    return sum(1 for name in list_functions(tree) if not name.startswith("liana_op_"))


def without_directives(text):
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", "", text, flags=re.M)


def statements(text):
    """(what stands outside of braces, what ends it: ';' or '{') of a file. Spaces stand only between two words."""
    depth, words = 0, []
    for token in re.findall(r'"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|[^\s]', text):
        if depth == 0 and token in ";{":
            yield re.sub(r" (?=\W)|(?<=\W) ", "", " ".join(words)), token
            words = []
        elif depth == 0 and token != "}":
            words.append(token)
        depth += (token == "{") - (token == "}")


# ---- rooms and stems ----


def stem_of(path):
    """A stem is a module: x.c, x.h, x_internal.h, x.avx2.c and x.part.kernels.h are one (as in check_includes.sh)."""
    folder, name = os.path.split(path)
    return os.path.join(folder, re.sub(r"_internal$", "", name.split(".")[0]))


def room_of(path):
    return os.path.dirname(path)


def train_rooms(tree):
    """{room: number of stems} of src/train."""
    rooms = collections.defaultdict(set)
    for path in list_sources(tree, "src/train"):
        rooms[os.path.relpath(os.path.dirname(path), os.path.join(tree, "src/train"))].add(stem_of(path))
    return {room: len(stems) for room, stems in sorted(rooms.items())}


def includes(tree):
    """[(file, included file)] of src, relative to it."""
    root, found = os.path.join(tree, "src"), []
    for path in list_sources(tree, "src"):
        for name in re.findall(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', read(path), re.M):
            for target in (os.path.join(root, name), os.path.join(os.path.dirname(path), name)):
                if os.path.exists(target):
                    found.append((os.path.relpath(path, root), os.path.relpath(target, root)))
                    break
    return found


def circles(edges):
    """Strongly connected components with more than one member (Tarjan, without recursion)."""
    graph = collections.defaultdict(set)
    for a, b in edges:
        if a != b:
            graph[a].add(b)
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for root in sorted(graph):
        if root in index:
            continue
        work = [(root, iter(sorted(graph[root])))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for other in rest:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(sorted(graph.get(other, ())))))
                    break
                if other in on_stack:
                    low[node] = min(low[node], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(take_component(stack, on_stack, node))
    return [component for component in found if len(component) > 1]


def take_component(stack, on_stack, node):
    component = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        component.append(member)
        if member == node:
            return sorted(component)


def definitions(text):
    """Names with external linkage that a .c file defines: functions, and variables with an initialiser."""
    for statement, end in statements(without_directives(text)):
        if end == "{" and not re.match(r"(static|typedef|struct|enum|union)\b|[A-Z]\w*\(", statement):
            name = re.search(r"(liana_\w+)(?:\(|=|\[)", statement)
            if name:
                yield name.group(1)


def uses(tree):
    """[(stem, stem)]: a .c file of the first uses a name that a .c file of the second defines."""
    owner, named = {}, []
    for path in list_sources(tree, "src", endings=(".c",)):
        text, stem = without_comments(read(path)), os.path.relpath(stem_of(path), os.path.join(tree, "src"))
        named.append((stem, set(re.findall(r"liana_\w+", re.sub(r'"(?:\\.|[^"\\])*"', "", text)))))
        for name in definitions(text):
            owner.setdefault(name, set()).add(stem)
    only = {name: next(iter(stems)) for name, stems in owner.items() if len(stems) == 1}
    return [(stem, only[name]) for stem, names in named for name in names if name in only]


def stem_circles(tree):
    """Circles of stems of one room that use each other's functions; check_includes.sh finds circles of includes."""
    return circles((a, b) for a, b in uses(tree) if room_of(a) == room_of(b))


def room_circles(tree):
    """Circles of rooms, that is of folders of src with files, by includes."""
    return circles((room_of(a), room_of(b)) for a, b in includes(tree) if room_of(a) != room_of(b))


# ---- comments and words ----


def long_comments(tree, *rooms):
    """Lines of comments over 120 columns."""
    count = 0
    for path in list_sources(tree, *rooms, endings=(".c", ".h", ".def")):
        text = read(path)
        code = without_comments(text).splitlines()
        for number, line in enumerate(text.splitlines()):
            count += len(line) > 120 and line.rstrip() != (code[number] if number < len(code) else "").rstrip()
    return count


def count_words(tree):
    """Whole words, singular and plural, in code and comments; x_leaf is another word."""
    text = "\n".join(read(path) for path in list_sources(tree, "src", "include", endings=(".c", ".h", ".def")))
    return {word: len(re.findall(rf"\b(?:{forms})\b", text, re.I)) for word, forms in WORDS.items()}


def print_rows(base, today, rows):
    for title, function in rows:
        print(f"{title:<86} {function(base):>8} {function(today):>8}")


def main():
    base, today = sys.argv[1:3]
    print(f"{'':<86} {'base':>8} {'today':>8}")
    print_rows(base, today, [
        ("lines of code in src/ (.c .h .def; without comments and blank lines)", lambda tree: count_code(tree, "src")),
        ("  of .c and .h alone", lambda tree: count_code(tree, "src", endings=(".c", ".h"))),
        ("  in src/train", lambda tree: count_code(tree, "src/train")),
        ("lines of code in include/", lambda tree: count_code(tree, "include")),
        ("public functions besides liana_op_*: names declared in include/liana/*.h", public_functions),
        ("  liana_op_*", lambda tree: len(list_functions(tree)) - public_functions(tree)),
        ("rooms in src/train (folders with files)", lambda tree: len(train_rooms(tree))),
        ("most stems in one of them", lambda tree: max(train_rooms(tree).values())),
        ("circles of rooms (components of more than one folder, by includes)", lambda tree: len(room_circles(tree))),
        ("circles of stems inside rooms (components of more than one stem, by used functions)",
         lambda tree: len(stem_circles(tree))),
        ("comment lines over 120 columns in src/ and include/", lambda tree: long_comments(tree, "src", "include")),
        ("  in tests/, bench/, examples/ too",
         lambda tree: long_comments(tree, "src", "include", "tests", "bench", "examples"))])
    words = count_words(base), count_words(today)
    for word in WORDS:
        print(f"{'the word ' + word + ' in src/ and include/ (whole words, with plurals)':<86} "
              f"{words[0][word]:>8} {words[1][word]:>8}")
    for name, tree in (("base", base), ("today", today)):
        print(f"stems by room of src/train, {name}: "
              + ", ".join(f"{room} {count}" for room, count in train_rooms(tree).items()))
        for kind, found in (("rooms", room_circles(tree)), ("stems", stem_circles(tree))):
            for component in found:
                print(f"circle of {kind}, {name}: {' '.join(component)}")


if __name__ == "__main__":
    main()
