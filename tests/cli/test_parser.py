"""Arguments: options before and after, usage errors, help, version, completion."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import loop_tui
from loop_tui.__main__ import main
from loop_tui.cli import registry
from loop_tui.cli.completion import tree
from loop_tui.cli.context import Context
from loop_tui.cli.parser import SHARED, build_parser, parse
from loop_tui.cli.registry import Command, commands
from loop_tui.cli.shells import WRITERS

Run = Callable[..., Any]


def test_options_stand_before_or_after_a_command() -> None:
    before = parse(["--agent-dir", "/a", "--read-only", "--sessions", "/1", "list"])
    after = parse(["list", "--agent-dir", "/a", "--read-only", "--sessions", "/1"])
    assert vars(before) == vars(after)
    assert (after.agent_dir, after.read_only, after.sessions) == ("/a", True, ["/1"])


def test_repeatable_options_add_up_and_later_ones_win() -> None:
    both = parse(["--sessions", "/1", "--agent-dir", "/a", "list", "--sessions", "/2", "--sessions",
                  "/3", "--agent-dir", "/b"])  # fmt: skip
    assert both.sessions == ["/1", "/2", "/3"]
    assert both.agent_dir == "/b"
    assert parse(["list"]).sessions is None


def test_no_argument_of_a_command_is_taken_for_a_shared_option() -> None:
    shared = {flag.removeprefix("--").replace("-", "_") for flag, _ in SHARED}
    for command in commands():
        parser = ArgumentParser()
        command.configure(parser)
        assert not shared & {action.dest for action in parser._actions}, command.name


@pytest.mark.parametrize(
    "argv",
    [
        ["frobnicate"],
        ["--frobnicate"],
        ["list", "--frobnicate"],
        ["list", "--view", "nothing"],
        ["list", "--limit", "0"],
        ["list", "--limit", "many"],
        ["list", "extra"],
        ["list", "--js"],
        ["show"],
        ["show", "a", "--before", "x"],
        ["pin"],
        ["demo"],
        ["completion", "tcsh"],
        ["--agent-dir"],
    ],
)
def test_usage_errors_exit_2_with_words_on_stderr(run: Run, argv: list[str]) -> None:
    result = run(*argv)
    assert result.status == 2
    assert result.out == ""
    assert result.err


def test_a_usage_error_shows_no_control_character(run: Run) -> None:
    result = run("list", "--view", "\x1b]0;title\x07\x9b2J")
    assert result.status == 2
    assert not {c for c in result.err if (c < " " and c != "\n") or "\x7f" <= c <= "\x9f"}


@pytest.mark.parametrize("argv", [["--version"], ["list", "--read-only", "--version"]])
def test_version(run: Run, argv: list[str]) -> None:
    result = run(*argv)
    if argv == ["--version"]:
        assert (result.status, result.out) == (0, f"loop-tui {loop_tui.__version__}\n")
    else:
        assert result.status == 2


def test_every_command_has_help_with_an_example(run: Run) -> None:
    for command in commands():
        result = run(command.name, "--help")
        assert result.status == 0
        assert "example:" in result.out
        assert command.example in result.out
        assert command.example.split()[0].endswith("loop-tui") or "loop-tui" in command.example


def test_help_names_every_command_and_shared_option(run: Run) -> None:
    text = run("--help").out
    for command in commands():
        assert f"    {command.name} " in text
    for flag, _ in SHARED:
        assert flag in text


def test_a_module_of_commands_is_added_by_name(monkeypatch: pytest.MonkeyPatch, run: Run) -> None:
    seen: list[str] = []

    def configure(parser: ArgumentParser) -> None:
        parser.add_argument("word")

    def act(context: Context, arguments: Namespace) -> int:
        seen.append(arguments.word)
        context.output.line("done")
        return 0

    extra = Command("greet", "say hello", "loop-tui greet you", configure, act)
    monkeypatch.setattr(registry, "commands", lambda: (extra,))
    monkeypatch.setattr("loop_tui.cli.parser.commands", lambda: (extra,))
    result = run("greet", "you", "--no-craft")
    assert (result.status, result.out, seen) == (0, "done\n", ["you"])


def test_a_signal_unwinds_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[Path] = []

    def act(context: Context, arguments: Namespace) -> int:
        demo = context.demo()
        assert demo is not None
        left.append(demo)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        return 0

    extra = Command("wait", "wait", "loop-tui wait", lambda parser: None, act)
    monkeypatch.setattr("loop_tui.cli.parser.commands", lambda: (extra,))
    with pytest.raises(SystemExit) as stop:
        main(["wait", "--demo"])
    assert stop.value.code == 128 + signal.SIGTERM
    assert left
    assert not left[0].exists()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_without_a_terminal_the_browser_is_refused(shell: Run) -> None:
    result = shell()
    assert result.status == 2
    assert "terminal" in result.err
    assert result.out == ""


# --- completion


def test_the_tree_holds_what_the_parser_knows() -> None:
    root, nodes = tree(build_parser())
    assert [node.name for node in nodes] == [command.name for command in commands()]
    assert {name for word in root.options for name in word.names} >= {flag for flag, _ in SHARED}
    by_name = {node.name: node for node in nodes}
    (view,) = [word for word in by_name["list"].options if "--view" in word.names]
    assert "unread" in view.choices
    assert by_name["pin"].operands[0].kind == "session"


@pytest.mark.parametrize("shell_name", sorted(WRITERS))
def test_a_completion_script_is_valid(run: Run, tmp_path: Path, shell_name: str) -> None:
    result = run("completion", shell_name)
    assert result.status == 0
    for command in commands():
        assert command.name in result.out
    program = shutil.which(shell_name)
    if program is None:
        pytest.skip(f"{shell_name} is not installed")
    script = tmp_path / "script"
    script.write_text(result.out)
    check = "--no-execute" if shell_name == "fish" else "-n"
    done = subprocess.run([program, check, str(script)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def complete(tmp_path: Path, words: list[str], listed: str = "") -> list[str]:
    """What bash offers for the last word; `listed` is what a fake `loop-tui list` prints."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("bash is not installed")
    (tmp_path / "bin").mkdir(exist_ok=True)
    fake = tmp_path / "bin" / "loop-tui"
    fake.write_text(f"#!/bin/sh\ncat <<'END'\n{listed}\nEND\n")
    fake.chmod(0o755)
    root, nodes = tree(build_parser())
    script = WRITERS["bash"](root, nodes)
    quoted = " ".join(f"'{word}'" for word in words)
    script += f"\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _loop_tui"
    script += '\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    done = subprocess.run(
        [bash, "--norc", "-c", script],
        cwd=tmp_path,
        env={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split()


def test_bash_offers_commands_options_and_choices(tmp_path: Path) -> None:
    assert complete(tmp_path, ["loop-tui", "unp"]) == ["unpin"]
    assert complete(tmp_path, ["loop-tui", "list", "--vi"]) == ["--view"]
    assert complete(tmp_path, ["loop-tui", "list", "--view", "un"]) == ["unread"]
    assert complete(tmp_path, ["loop-tui", "--read-only", "list", "--li"]) == ["--limit"]


def test_bash_offers_ids_but_never_runs_one(tmp_path: Path) -> None:
    listed = '{"source":"loop","id":"3f9c-1"}\n{"source":"craft","id":"3f$(touch pwned)`touch p`"}'
    assert complete(tmp_path, ["loop-tui", "pin", "3f"], listed) == ["3f9c-1"]
    assert not (tmp_path / "pwned").exists()
    assert not (tmp_path / "p").exists()


def test_main_reads_sys_argv(monkeypatch: pytest.MonkeyPatch, capsys: object) -> None:
    monkeypatch.setattr("sys.argv", ["loop-tui", "--version"])
    assert main() == 0
