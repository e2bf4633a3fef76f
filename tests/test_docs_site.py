"""The documentation site builds without network and without a warning, and what it shows is whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.browser import Browser

ROOT = Path(__file__).parents[1]
NOWHERE = "http://127.0.0.1:9"
"""A proxy that answers nobody."""

PAGES = [
    "index.html",
    "guides/operator.html",
    "guides/cluster.html",
    "theory.html",
    "related.html",
    "reference/learners.html",
]


@dataclass
class Links(HTMLParser):
    """The ids of a page, what it links to, and what it loads."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    assets: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what matters of an element."""
        given = {name: value for name, value in attrs if value is not None}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and "canonical" not in given.get("rel", "") and "href" in given:
            self.assets.append(given["href"])
        elif "src" in given:
            self.assets.append(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)  # a link would lead back to the project, and the site be built there
    shutil.copytree(ROOT / "docs", folder / "docs")
    for name in ("scripts", "src"):
        (folder / name).symlink_to(ROOT / name)
    offline = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"), NOWHERE)
    built = subprocess.run(
        [sys.executable, "-W", "error", "-m", "zensical", "build", "--clean", "--strict"],
        cwd=folder,
        env={**os.environ, **offline, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = built.stdout + built.stderr
    assert built.returncode == 0, said
    assert "warning" not in said.lower(), said
    return folder / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Links]:
    found = {}
    for path in sorted(site.rglob("*.html")):
        found[path] = Links()
        found[path].feed(path.read_text(encoding="utf-8"))
    return found


def test_every_page_is_there(site: Path) -> None:
    wanted = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    assert wanted <= built


def test_every_page_can_be_reached_from_the_first(site: Path, pages: dict[Path, Links]) -> None:
    reached, todo = set(), [site / "index.html"]
    while todo:
        page = todo.pop()
        if page not in reached and page in pages:
            reached.add(page)
            todo += [(page.parent / unquote(urlsplit(link).path)).resolve() for link in pages[page].links]
    assert set(pages) - reached == {site / "404.html"}


def test_links_and_anchors_lead_somewhere(pages: dict[Path, Links]) -> None:
    broken = []
    for page, found in pages.items():
        for link in found.links if page.name != "404.html" else []:  # that one is served from any address
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].ids):
                broken.append(f"{page.name}: {link}")
    assert not broken


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Links]) -> None:
    foreign = {asset for found in pages.values() for asset in found.assets if urlsplit(asset).netloc}
    assert not foreign
    styles = [path for path in site.rglob("*.css") if "url(http" in path.read_text(encoding="utf-8")]
    assert not styles


def test_pictures_scripts_and_styles_are_there(pages: dict[Path, Links]) -> None:
    missing = set()
    for page, found in pages.items():
        local = [urlsplit(asset).path for asset in found.assets if not urlsplit(asset).scheme]
        missing |= {path for path in local if page.name != "404.html" and not (page.parent / unquote(path)).exists()}
    assert not missing


def test_docstrings_and_formulas_are_rendered(pages: dict[Path, Links]) -> None:
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert ":math:" not in text, page.name
        assert ".. math::" not in text, page.name
        assert "$$" not in text, page.name
    theory = next(page for page in pages if page.name == "theory.html")
    assert theory.read_text(encoding="utf-8").count("<math") > 100


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_opens_without_errors_or_sideways_overflow(site: Path, browser: Browser, name: str, width: int) -> None:
    page = browser.open(site / name, width)
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelector('article h1') !== null")


def test_the_search_works_in_pages_opened_from_a_folder(site: Path, browser: Browser) -> None:
    page = browser.open(site / "index.html", 1280)
    page.evaluate("document.querySelector('.md-search__button').click()")
    dialog = "document.activeElement.shadowRoot"
    assert page.evaluate(eventually(f"{dialog} && {dialog}.querySelector('input')"))
    for letter in "primal-dual":
        page.call("Input.dispatchKeyEvent", type="char", text=letter)
    assert page.evaluate(eventually(f"{dialog}.textContent.includes('PrimalDual')"))
    assert page.errors == []


def eventually(condition: str) -> str:
    """Return a script that waits up to ten seconds for a condition, and says whether it came true."""
    return (
        "new Promise(done => { const end = Date.now() + 10000; const look = () => "
        f"({condition}) ? done(true) : Date.now() > end ? done(false) : setTimeout(look, 50); look(); }})"
    )
