"""Every test runs in a home of its own: nothing may reach the user's files."""

from __future__ import annotations

import os
from collections.abc import Iterator
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """`soak` tests run only when asked for with -m soak."""
    if "soak" in (config.getoption("-m") or ""):
        return
    skip = pytest.mark.skip(reason="long form; run with -m soak")
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(skip)
