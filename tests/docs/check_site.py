"""Reads the HTML of the documents' site, with Python's own parser: every link and picture leads to a file of the site, every
anchor to an element there, no page asks for anything else, every page is found by the search and in the sidebar.

    check_site.py SITE [--few]    --few: the site is a small one
"""
import html.parser
import json
import pathlib
import sys
import urllib.parse


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.ids, self.open, self.wrong = [], set(), [], []
        self.sidebar = set()

    def handle_starttag(self, tag, attributes):
        facts = dict(attributes)
        if "id" in facts:
            if facts["id"] in self.ids:
                self.wrong.append(f"two elements are #{facts['id']}")
            self.ids.add(facts["id"])
        for name in ("href", "src"):
            if name in facts:
                self.links.append(facts[name])
                if any(above == "nav" for above in self.open):
                    self.sidebar.add(facts[name])
        if tag == "a" and "name" in facts:
            self.ids.add(facts["name"])
        if tag == "img" and "alt" not in facts:
            self.wrong.append(f"a picture without words: {facts.get('src')}")
        if tag not in ("meta", "link", "img", "input", "br", "hr", "col", "source"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass


def read(site):
    readers = {}
    for path in sorted(site.rglob("*.html")):
        readers[path.resolve()] = reader = Reader()
        reader.feed(path.read_text(encoding="utf-8"))
    return readers


def check_links(site, readers):
    wrong, count = [], 0
    for path, reader in readers.items():
        name = path.relative_to(site)
        wrong += [f"{name}: {text}" for text in reader.wrong]
        for link in reader.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            count += 1
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            if not target.is_file() or site not in target.parents:
                wrong.append(f"{name}: {link} leads nowhere")
            elif anchor and target in readers and anchor not in readers[target].ids:
                wrong.append(f"{name}: {link}: there is no such element")
    return wrong, count


def check_search(site, readers):
    text = (site / "search-index.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("window.lianaSearchIndex = ").rstrip(";\n"))
    wrong = []
    for page, anchor, *_ in index["sections"]:
        path = (site / index["pages"][page][0]).resolve()
        if path not in readers or anchor not in readers[path].ids:
            wrong.append(f"the search leads to {index['pages'][page][0]}#{anchor}, which there is not")
    listed = {(site / page[0]).resolve() for page in index["pages"]}
    for path, reader in readers.items():
        for link in reader.sidebar:
            if (path.parent / link).resolve() not in listed:
                wrong.append(f"{link}, in the sidebar of {path.relative_to(site)}, is not in the search")
    return wrong, len(index["pages"]), len(index["sections"])


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    readers = read(site)
    wrong, links = check_links(site, readers)
    more, pages, sections = check_search(site, readers)
    if "--few" not in sys.argv and (pages < 150 or links < 5000):
        wrong.append(f"only {pages} pages and {links} links were found; are they still found?")
    for line in (wrong + more)[:50]:
        print(line, file=sys.stderr)
    print(f"{links} links of {len(readers)} files, {pages} pages and {sections} sections in the search, {len(wrong + more)} wrong")
    return 1 if wrong + more else 0


if __name__ == "__main__":
    sys.exit(main())
