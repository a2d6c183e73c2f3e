#!/usr/bin/env python3
"""Builds the documents as static files: README.md, CONTRIBUTING.md, docs/ and all that they link to, and the reference.

    scripts/site/site.py ROOT SITE

Pages open from disk, without a server and a network. Markdown becomes HTML with cmark-gfm, as GitHub shows it. The status is
1 where a link or an anchor leads nowhere.
"""
import html
import json
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import urllib.parse

FIRST = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
GROUPS = [("docs/start/", "Start"), ("docs/guides/", "Guides"), ("docs/reference/c/", "C interface"),
          ("docs/reference/", "Reference"), ("docs/explanation/", "Explanation"), ("docs/design/", "Explanation"),
          ("docs/", "More"), ("bench/", "Measurements"), ("", "The project")]
# In this order in the sidebar.
ORDER = ["Start", "Guides", "Reference", "C interface", "Explanation", "More", "Measurements", "The project"]
PICTURES = (".png", ".svg", ".jpg", ".jpeg", ".gif", ".webp")


class Page:
    def __init__(self, source, body):
        self.source = source  # "docs/guides/data.md"
        self.file = source[:-3] + ".html" if source.endswith(".md") else source + ".html"
        self.body = body
        self.ids = set()
        heading = re.search(r"<h1>(.*?)</h1>", body, flags=re.S)
        self.title = words(heading.group(1)) if heading else source
        self.sections = []  # (anchor, heading, text), for the search


def words(fragment):
    """The text of a piece of HTML."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", fragment))).strip()


def to_html(markdown):
    command = ["cmark-gfm", "--unsafe", "-e", "table", "-e", "strikethrough", "-e", "autolink"]
    return subprocess.run(command, input=markdown.encode("utf-8"), stdout=subprocess.PIPE, check=True).stdout.decode("utf-8")


def slug(heading):
    """The anchor of a heading, as GitHub makes it: small letters, digits, '-' and '_'; spaces become '-'."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def add_anchors(page):
    """Gives each heading an anchor, and notes the sections for the search."""
    counts, places = {}, []

    def heading(match):
        level, inner = match.group(1), match.group(2)
        text = html.unescape(re.sub(r"<[^>]+>", "", inner)).strip()
        name = slug(text)
        count = counts.get(name, 0)
        counts[name] = count + 1
        name = f"{name}-{count}" if count else name
        page.ids.add(name)
        places.append((name, text))
        mark = "" if level == "1" else f' <a class="mark" href="#{name}" aria-label="Link to {html.escape(text, quote=True)}">#</a>'
        return f'\0<h{level} id="{name}">{inner}{mark}</h{level}>'

    body = re.sub(r"<h([1-6])>(.*?)</h\1>", heading, page.body, flags=re.S)
    parts = body.split("\0")
    page.ids.update(re.findall(r'<a (?:id|name)="([^"]+)"', parts[0]))
    for (name, text), part in zip(places, parts[1:]):
        page.ids.update(re.findall(r'<a (?:id|name)="([^"]+)"', part))
        rest = re.sub(r"^<h(\d).*?</h\1>", "", part, flags=re.S)
        page.sections.append((name, text, words(rest)))
        # Rows of tables that have a name of their own.
        for place, title, row in re.findall(r'<td><a id="([^"]+)"(?: title="([^"]+)")?></a>(.*?)</tr>', rest, flags=re.S):
            page.sections.append((place, html.unescape(title or place), words(row)))
    page.body = "".join(parts)


class Site:
    def __init__(self, root, out):
        self.root, self.out = root, out
        self.pages = {}  # by source
        self.copies = set()
        self.wrong = []

    def add(self, source):
        """The page of a Markdown file, of another text, or of a folder; None: there is no such thing."""
        if source in self.pages:
            return self.pages[source]
        path = self.root / source
        if source.endswith(".md") and path.is_file():
            page = Page(source, to_html(path.read_text(encoding="utf-8")))
        elif path.is_dir():
            inside = [item.name + ("/" if item.is_dir() else "") for item in sorted(path.iterdir()) if item.name[0] != "."]
            rows = "".join(f'<li><a href="{name}">{name}</a></li>' for name in inside if name != "__pycache__/")
            page = Page(source, f"<h1>{source}</h1><ul>{rows}</ul>")
            page.file = f"{source}/index.html"
        elif path.is_file():
            text = html.escape(path.read_text(encoding="utf-8", errors="replace"), quote=False)
            page = Page(source, f"<h1>{source}</h1><pre><code>{text}</code></pre>")
        else:
            page = None
        if page is None:
            return None
        self.pages[source] = page
        add_anchors(page)
        page.links = []
        page.body = re.sub(r'(<a\b[^>]*?\bhref|<img\b[^>]*?\bsrc)="([^"]*)"', lambda match: self.link(page, match), page.body)
        return page

    def link(self, page, match):
        attribute, target = match.group(1), html.unescape(match.group(2))
        if re.match(r"[a-z][a-z0-9+.-]*:|//", target) or target.startswith("#"):
            page.links.append((page, target[1:])) if target.startswith("#") else None
            return match.group(0)
        path, _, anchor = urllib.parse.unquote(target).partition("#")
        here = page.source if (self.root / page.source).is_dir() else posixpath.dirname(page.source)
        source = posixpath.normpath(posixpath.join(here, path))
        if source.endswith(PICTURES) and (self.root / source).is_file():
            self.copies.add(source)
            return f'{attribute}="{html.escape(self.relative(page, source), quote=True)}"'
        # A tree of source code is not part of the documents.
        other = None if source.startswith("..") else self.add(source)
        if other is None:
            self.wrong.append(f"{page.source}: there is no {source}")
            return match.group(0)
        page.links.append((other, anchor))
        url = self.relative(page, other.file) + ("#" + anchor if anchor else "")
        return f'{attribute}="{html.escape(url, quote=True)}"'

    @staticmethod
    def relative(page, file):
        return posixpath.relpath(file, posixpath.dirname(page.file) or ".")

    def check_anchors(self):
        for page in self.pages.values():
            for other, anchor in page.links:
                if anchor and anchor not in other.ids:
                    self.wrong.append(f"{page.source}: {other.source} has no heading for #{anchor}")

    # ---- writing ----

    def group_of(self, source):
        if not source.endswith(".md"):
            return None
        return next(name for folder, name in GROUPS if source.startswith(folder))

    def navigation(self):
        """Groups with their pages, in the order of docs/index.md, then by title."""
        index = self.pages.get("docs/index.md")
        order = [other.source for other, _ in index.links] if index else []
        groups = {name: [] for name in ORDER}
        for page in self.pages.values():
            group = self.group_of(page.source)
            if group:
                groups[group].append(page)
        for pages in groups.values():
            pages.sort(key=lambda page: (order.index(page.source) if page.source in order else len(order), page.title.lower()))
        return {name: pages for name, pages in groups.items() if pages}

    def write(self, template):
        shutil.rmtree(self.out, ignore_errors=True)
        groups = self.navigation()
        for page in self.pages.values():
            path = self.out / page.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self.filled(template, page, groups), encoding="utf-8")
        for source in self.copies:
            path = self.out / source
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.root / source, path)
        start = "docs/index.html" if "docs/index.md" in self.pages else "README.html"
        (self.out / "index.html").write_text(
            f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>liana</title><meta http-equiv="refresh" content="0; url={start}">'
            f'<p><a href="{start}">The documents of liana</a></p></html>\n', encoding="utf-8")
        here = pathlib.Path(__file__).parent
        for name in ("site.css", "site.js"):
            shutil.copyfile(here / name, self.out / name)
        self.write_index()

    def filled(self, template, page, groups):
        here = self.group_of(page.source)
        rows = []
        for name, pages in groups.items():
            items = "".join(
                f'<li><a href="{html.escape(self.relative(page, other.file), quote=True)}"{" aria-current=page" if other is page else ""}>'
                f"{html.escape(other.title)}</a></li>" for other in pages)
            rows.append(f'<details{" open" if name == here else ""}><summary>{name}</summary><ul>{items}</ul></details>')
        body = re.sub(r"<table>.*?</table>", lambda table: f'<div class="table" tabindex="0">{table.group(0)}</div>', page.body, flags=re.S)
        body = body.replace("<pre>", '<pre tabindex="0">')
        seconds = re.findall(r'<h2 id="([^"]*)">(.*?)(?: <a class="mark".*?)?</h2>', body, flags=re.S)
        contents = ""
        if len(seconds) > 2:
            items = "".join(f'<li><a href="#{name}">{html.escape(words(text))}</a></li>' for name, text in seconds)
            contents = f"<details class=contents><summary>On this page</summary><ul>{items}</ul></details>"
            body = re.sub(r"(</h1>)", lambda end: end.group(1) + contents, body, count=1)
        values = {"TITLE": html.escape(page.title), "UP": self.relative(page, "."),
                  "START": self.relative(page, "index.html"), "NAVIGATION": "".join(rows), "BODY": body}
        return re.sub(r"@([A-Z]+)@", lambda match: values[match.group(1)], template)

    def write_index(self):
        """What the search looks through, as a script: pages that are opened from disk may not fetch files."""
        pages, sections = [], []
        for page in self.pages.values():
            group = self.group_of(page.source) or "Files"
            if group == "Files":
                continue
            pages.append([page.file, page.title, group])
            sections += [[len(pages) - 1, name, title, text] for name, title, text in page.sections]
        text = json.dumps({"pages": pages, "sections": sections}, ensure_ascii=False, separators=(",", ":"))
        (self.out / "search-index.js").write_text(f"window.lianaSearchIndex = {text};\n", encoding="utf-8")


def main(arguments):
    if len(arguments) != 2:
        sys.exit(__doc__)
    root, out = map(pathlib.Path, arguments)
    site = Site(root, out)
    for source in [name for name in FIRST if (root / name).is_file()]:
        site.add(source)
    for path in sorted(root.glob("docs/**/*.md")):
        site.add(path.relative_to(root).as_posix())
    site.check_anchors()
    site.write((pathlib.Path(__file__).parent / "page.html").read_text(encoding="utf-8"))
    for text in site.wrong:
        print(text, file=sys.stderr)
    if site.wrong:
        return 1
    print(f"{len(site.pages)} pages: {out / 'index.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
