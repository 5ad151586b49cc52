"""Every test runs in a home of its own: nothing may reach the user's files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

DATA = Path(__file__).parent / "data"

settings.register_profile(
    "default",
    deadline=None,
    # A change is judged by the same examples each time; at the desk they are new ones.
    derandomize=bool(os.environ.get("CI")),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("default")

_FOREIGN = (
    "LOOP_DATA_DIR",
    "CRAFT_CONFIG_DIR",
    "CRAFT_DEBUG",
    "NO_COLOR",
    "TMUX",
    "LOOP_TUI_CONFIG",
    # pytest's line editor sets these for its workers: no terminal would have another size.
    "COLUMNS",
    "LINES",
)


@pytest.fixture(autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A fresh HOME and XDG base; restored afterwards."""
    home = tmp_path_factory.mktemp("home")
    before = dict(os.environ)
    for name in _FOREIGN:
        os.environ.pop(name, None)
    os.environ["HOME"] = str(home)
    for name, sub in (
        ("XDG_CONFIG_HOME", ".config"),
        ("XDG_CACHE_HOME", ".cache"),
        ("XDG_STATE_HOME", ".local/state"),
        ("XDG_DATA_HOME", ".local/share"),
    ):
        os.environ[name] = str(home / sub)
    os.environ["TZ"] = "UTC"
    yield home
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def loop_data() -> Path:
    """Version-2 fixtures written by the real program (read only)."""
    return DATA / "loop-v2"


@pytest.fixture
def craft_data() -> Path:
    """Craft-Agents fixtures (read only: copy before anything that writes)."""
    return DATA / "craft"


# fmt: off
TAGS = frozenset((
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "h5", "h6", "dl",
    "dt", "dd", "section", "div", "p", "pre", "code", "details", "summary", "b", "span", "img",
    "a", "em", "strong", "s", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr",
    "th", "td", "hr", "br",
))
# fmt: on
ATTRIBUTES = {
    "html": {"lang"},
    "meta": {"charset", "http-equiv", "content", "name"},
    "a": {"href", "rel", "title"},
    "img": {"alt", "src"},
    "ol": {"start"},
    "th": {"style"},
    "td": {"style"},
}
VOID = frozenset(("meta", "img", "br", "hr"))


class Inspector(HTMLParser):
    """Refuses every tag, attribute and reference that an export has no use for."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.links: list[str] = []
        self.images: list[str] = []
        self.text: list[str] = []
        self.metas: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        given = dict(attrs)
        assert set(given) <= ATTRIBUTES.get(tag, set()) | {"class"}, (tag, attrs)
        if tag == "a":
            assert re.match(r"https?://", given["href"] or ""), given
            assert given["rel"] == "noopener noreferrer nofollow"
            self.links.append(given["href"] or "")
        if tag == "img":
            source = given["src"] or ""
            assert re.fullmatch(
                r"data:image/(png|jpeg|webp|gif);base64,[A-Za-z0-9+/]+={0,2}", source
            )
            self.images.append(source)
        if "style" in given:
            assert re.fullmatch(r"text-align:(left|right|center)", given["style"] or "")
        if tag == "meta":
            self.metas.append(given)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError(f"a declaration: {data}")


@pytest.fixture(scope="session")
def inspected() -> Callable[[str], Inspector]:
    """Parses an HTML export; fails for whatever could run, be fetched or break out."""

    def inspect(page: str) -> Inspector:
        inspector = Inspector()
        inspector.feed(page)
        inspector.close()
        assert inspector.open == []
        return inspector

    return inspect


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`soak` tests run only when asked for with -m soak."""
    if "soak" in (config.getoption("-m") or ""):
        return
    skip = pytest.mark.skip(reason="long form; run with -m soak")
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(skip)
