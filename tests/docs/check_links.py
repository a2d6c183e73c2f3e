"""Checks the links of all documents: each file that a link names exists, and each anchor is a heading there. Links to
other sites are not opened. Anchors are made from headings as GitHub makes them.

    check_links.py FOLDER          checks the documents of a tree
    check_links.py --self-test     shows that wrong links are caught
"""
import os
import re
import sys
import tempfile

LINK = re.compile(r"\]\(([^()\s]+)\)|\b(?:href|src)=\"([^\"]+)\"")


def documents_of(root):
    """README.md, CONTRIBUTING.md, CHANGELOG.md and every page of docs, bench and examples, relative to the root."""
    found = [name for name in sorted(os.listdir(root)) if name.endswith(".md")]
    for top in ("docs", "bench", "examples", "bindings"):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            found += [os.path.relpath(os.path.join(folder, name), root) for name in sorted(names) if name.endswith(".md")]
    return found


def lines_of(text):
    """(number, line) of the lines outside of quoted code."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            yield number, line


def anchors_of(text):
    """The anchors of a page's headings: lower case, spaces as hyphens, other signs left out, repeated ones numbered."""
    anchors, counts = set(), {}
    for _, line in lines_of(text):
        anchors.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
        heading = re.match(r"#{1,6} +(.*?) *#*$", line)
        if not heading:
            continue
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        number = counts.get(name, 0)
        counts[name] = number + 1
        anchors.add(f"{name}-{number}" if number else name)
    return anchors


def links_of(text):
    for number, line in lines_of(text):
        for found in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            yield number, found.group(1) or found.group(2)


def wrong_links(root):
    texts, anchors, wrong, count = {}, {}, [], 0
    for document in documents_of(root):
        with open(os.path.join(root, document), encoding="utf-8") as file:
            texts[document] = file.read()
        anchors[document] = anchors_of(texts[document])
    for document, text in texts.items():
        for number, link in links_of(text):
            if re.match(r"[a-z]+:", link):
                continue
            count += 1
            path, _, anchor = link.partition("#")
            target = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
            place = f"{document}:{number}: "
            if target.startswith("..") or not os.path.exists(os.path.join(root, target)):
                wrong.append(f"{place}the link to {link} leads nowhere: there is no {target}")
            elif anchor and target not in anchors:
                wrong.append(f"{place}{link} names a heading of {target}, which is no document")
            elif anchor and anchor not in anchors[target]:
                wrong.append(f"{place}{target} has no heading with the anchor #{anchor}")
    return wrong, count, len(texts)


def rows_without_links(text):
    """The rows of the tables of docs/answers.md that lead nowhere: each answer names the page that says more."""
    lines = list(lines_of(text))
    return [(number, line) for (number, line), (_, above) in zip(lines[1:], lines)
            if line.startswith("| ") and above.startswith("|") and not line.startswith("|---") and "](" not in line]


def unanswered(questions, answers, index):
    """What is wrong with the answers: a question of tests/docs/questions.tsv has no row in docs/answers.md, or the index has
    no link to that page. Two clicks lead from the index to the page that says more."""
    rows = [line.split("|")[1].strip() for _, line in lines_of(answers) if line.startswith("| ")]
    wrong = [] if any(link == "answers.md" for _, link in links_of(index)) else ["docs/index.md has no link to answers.md"]
    for line in questions.split("\n"):
        if line and not line.startswith("#"):
            number, question = line.split("\t")
            if rows.count(question) != 1:
                wrong.append(f"docs/answers.md: found {rows.count(question)} rows for question {number}, '{question}'; expected one")
    return wrong


def heavy_pictures(root):
    """Pictures of the gallery that are larger than scripts/small_png.py leaves them."""
    folder = os.path.join(root, "docs", "images", "gallery")
    return [f"docs/images/gallery/{name}: found {size} bytes, expected 60000 at most (scripts/small_png.py)"
            for name in sorted(os.listdir(folder)) if (size := os.path.getsize(os.path.join(folder, name))) > 60_000]


def self_test():
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, "docs", "guides"))

        def write(name, text):
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)

        answers = "| q | a | more |\n|---|---|---|\n| why | so | [x](y.md) |\n| when | now | |\n"
        assert rows_without_links(answers) == [(4, "| when | now | |")]
        assert unanswered("# x\n1\twhy\n2\twhen\n", answers, "[a](answers.md)") == []
        assert len(unanswered("1\twhere\n", answers, "[a](answers.md)")) == 1
        assert len(unanswered("1\twhy\n", answers, "[a](guides/answers.md)")) == 1
        pictures = os.path.join(root, "docs", "images", "gallery")
        os.makedirs(pictures)
        for size in (60_000, 60_001):
            with open(os.path.join(pictures, f"{size}.png"), "wb") as file:
                file.write(bytes(size))
        assert [line.split(":")[0] for line in heavy_pictures(root)] == ["docs/images/gallery/60001.png"]
        write("docs/guides/a.md", "# Train: 2 `x_y`, or more\n## Same\n## Same\n```\n# no heading\n```\n")
        good = "[1](docs/guides/a.md#train-2-x_y-or-more) [2](docs/guides/a.md#same-1) [3](docs/) `[4](no.md)` [5](https://x/#y)\n"
        write("README.md", good)
        assert wrong_links(root) == ([], 3, 2), wrong_links(root)
        for link in ("docs/b.md", "docs/guides/a.md#same-2", "docs/guides/a.md#no-heading", "#none", "../x.md", "docs/guides#x"):
            write("README.md", good + f"[6]({link})\n")
            wrong = wrong_links(root)[0]
            assert len(wrong) == 1 and wrong[0].startswith("README.md:2: "), (link, wrong)
    print("every wrong link is caught")


def main():
    if sys.argv[1] == "--self-test":
        self_test()
        return 0
    wrong, count, documents = wrong_links(sys.argv[1])

    def text_of(*path):
        with open(os.path.join(sys.argv[1], *path), encoding="utf-8") as file:
            return file.read()

    answers = text_of("docs", "answers.md")
    wrong += [f"docs/answers.md:{number}: this answer has no link: {line}" for number, line in rows_without_links(answers)]
    wrong += unanswered(text_of("tests", "docs", "questions.tsv"), answers, text_of("docs", "index.md"))
    wrong += heavy_pictures(sys.argv[1])
    for line in wrong:
        print(line, file=sys.stderr)
    print(f"{count} links in {documents} documents, {len(wrong)} wrong")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
