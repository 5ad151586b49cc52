"""The completion scripts of the three shells.

Options, commands and choices are fixed in the script. Sessions are asked for when the key
is pressed: their ids come from `list`, which writes nothing. Only ids of plain characters
are offered, because shells expand the words they are given (a folder may be named `$(…)`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from loop_tui.cli.completion import Node, Word

_IDS = (
    "loop-tui list --view all --json --read-only 2>/dev/null"
    """ | sed -n 's/^{"source":"[a-z]*","id":"\\([A-Za-z0-9_-]*\\)".*/\\1/p'"""
)


def bash(root: Node, nodes: tuple[Node, ...]) -> str:
    """A function for `complete -F`."""
    shared = _names(word for word in root.options if "--help" not in word.names)
    cases, values = [], list(_bash_values([root, *nodes]))
    for node in nodes:
        offers = f'words="{_names(node.options)} $shared"'
        for word in node.operands[:1]:
            offers += _bash_operand(word)
        cases.append(f"        {node.name}) {offers} ;;")
    return "\n".join(
        [
            "# bash completion for loop-tui",
            "_loop_tui_sessions() {",
            f"    case $1 in -*) ;; *) {_IDS} ;; esac",
            "}",
            "_loop_tui() {",
            "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}",
            f'    local command="" word words="" shared="{shared}"',
            "    COMPREPLY=()",
            '    case "$prev" in',
            *values,
            "    esac",
            '    [ -n "$words" ] || for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
            '        case "$word" in',
            f"            {'|'.join(node.name for node in nodes)}) command=$word; break ;;",
            "        esac",
            "    done",
            '    [ -n "$words" ] || case "$command" in',
            *cases,
            f'        *) words="$shared {" ".join(node.name for node in nodes)}" ;;',
            "    esac",
            '    COMPREPLY=($(compgen -W "$words" -- "$cur"))',
            "}",
            "complete -o default -F _loop_tui loop-tui",
            "",
        ]
    )


def _bash_values(nodes: Iterable[Node]) -> Iterable[str]:
    """What follows an option; without an answer of ours, bash offers file names."""
    taking = [word for node in nodes for word in node.options if word.kind != "flag"]
    for names in dict.fromkeys(word.names for word in taking):
        word = next(word for word in taking if word.names == names)
        offer = f'words="{" ".join(word.choices)}"' if word.choices else "return"
        yield f"        {'|'.join(names)}) {offer} ;;"


def _bash_operand(word: Word) -> str:
    if word.kind == "choice":
        return f'; words+=" {" ".join(word.choices)}"'
    return '; words+=" $(_loop_tui_sessions "$cur")"' if word.kind == "session" else ""


def zsh(root: Node, nodes: tuple[Node, ...]) -> str:
    """A `#compdef` file that also works through `eval`."""
    lines = ["#compdef loop-tui", "", "_loop_tui_sessions() {", "    local -a ids"]
    lines += [f'    ids=(${{(f)"$({_IDS})"}})', "    _alternative 'ids:session:compadd -a ids' \\"]
    lines += ["        'files:file:_files'", "}", "", "_loop_tui() {", "    local -a commands"]
    lines += ["    commands=("]
    lines += [f"        {_quoted(f'{node.name}:{node.help}')}" for node in nodes]
    lines += ["    )", "    local context state line", "    _arguments -C \\"]
    lines += [f"        {_zsh_word(word)} \\" for word in root.options]
    lines += ["        '1:command:->command' '*::argument:->argument'", '    case "$state" in']
    lines += ["        command) _describe command commands ;;", "        argument)"]
    lines += ['            case "$line[1]" in']
    for node in nodes:
        words = " ".join(_zsh_word(word) for word in (*node.words, *root.options[2:]))
        lines.append(f"                {node.name}) _arguments {words} ;;")
    lines += ["            esac ;;", "    esac", "}", ""]
    lines += ['if [ "$funcstack[1]" = "_loop_tui" ]; then', '    _loop_tui "$@"', "else"]
    lines += ["    compdef _loop_tui loop-tui", "fi", ""]
    return "\n".join(lines)


def _zsh_word(word: Word) -> str:
    action = {
        "dir": "_files -/",
        "file": "_files",
        "session": "_loop_tui_sessions",
        "choice": f"({' '.join(word.choices)})",
        "text": " ",
    }.get(word.kind, "")
    text = word.help.replace("[", "(").replace("]", ")").replace(":", ",")
    if not word.names:
        return _quoted(f"*:{'session' if word.kind == 'session' else 'argument'}:{action}")
    value = f":value:{action}" if word.kind != "flag" else ""
    return " ".join(_quoted(f"{name}[{text}]{value}") for name in word.names)


def fish(root: Node, nodes: tuple[Node, ...]) -> str:
    """Plain `complete` lines."""
    lines = ["# fish completion for loop-tui", "complete -c loop-tui -f"]
    lines += [_fish_word(word, "") for word in root.options]
    for node in nodes:
        lines.append(
            f"complete -c loop-tui -n __fish_use_subcommand -a {node.name} -d {_quoted(node.help)}"
        )
        seen = f"-n '__fish_seen_subcommand_from {node.name}' "
        lines += [_fish_word(word, seen) for word in node.options]
        for word in node.operands[:1]:
            offer = {
                "choice": f"-a {_quoted(' '.join(word.choices))}",
                "session": f"-F -a {_quoted(f'({_IDS})')}",
            }.get(word.kind, "-F")
            lines.append(f"complete -c loop-tui {seen}{offer}")
    return "\n".join([*lines, ""])


def _fish_word(word: Word, condition: str) -> str:
    names = " ".join(
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in word.names
    )
    value = {
        "flag": "",
        "choice": f" -x -a {_quoted(' '.join(word.choices))}",
        "dir": " -x -a '(__fish_complete_directories)'",
        "file": " -r -F",
    }.get(word.kind, " -x")
    return f"complete -c loop-tui {condition}{names}{value} -d {_quoted(word.help)}"


def _names(words: Iterable[Word]) -> str:
    return " ".join(name for word in words for name in word.names)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


WRITERS: dict[str, Callable[[Node, tuple[Node, ...]], str]] = {
    "bash": bash,
    "zsh": zsh,
    "fish": fish,
}
