"""The completion scripts of the three shells.

Options, commands and choices are fixed in the script. Sessions are asked for when the key
is pressed: their ids come from `list`, which writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from loop_tui.cli.completion import Node, Word

_IDS = (
    "loop-tui list --view all --json --read-only 2>/dev/null"
    """ | sed -n 's/^{"source":"[a-z]*","id":"\\([^"]*\\)".*/\\1/p'"""
)


def bash(root: Node, nodes: tuple[Node, ...]) -> str:
    """A function for `complete -F`."""
    shared = _names(root.options)
    cases, values = [], list(_bash_values([root, *nodes]))
    for node in nodes:
        offers = f'words="{_names(node.options)} {shared}"'
        for word in node.operands[:1]:
            offers += "; " + _bash_operand(word)
        cases.append(f"        {node.name}) {offers} ;;")
    return "\n".join(
        [
            "# bash completion for loop-tui",
            "_loop_tui() {",
            "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}",
            '    local command="" word words=""',
            "    COMPREPLY=()",
            '    case "$prev" in',
            *values,
            "    esac",
            '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
            '        case "$word" in',
            f"            {'|'.join(node.name for node in nodes)}) command=$word; break ;;",
            "        esac",
            "    done",
            '    case "$command" in',
            *cases,
            f'        *) words="{shared} {" ".join(node.name for node in nodes)}" ;;',
            "    esac",
            '    COMPREPLY+=($(compgen -W "$words" -- "$cur"))',
            "}",
            "complete -o filenames -F _loop_tui loop-tui",
            "",
        ]
    )


def _bash_values(nodes: Iterable[Node]) -> Iterable[str]:
    seen = set()
    for node in nodes:
        for word in node.options:
            if word.kind == "flag" or word.names in seen:
                continue
            seen.add(word.names)
            reply = {
                "dir": 'COMPREPLY=($(compgen -d -- "$cur"))',
                "file": 'COMPREPLY=($(compgen -f -- "$cur"))',
                "choice": f'COMPREPLY=($(compgen -W "{" ".join(word.choices)}" -- "$cur"))',
            }.get(word.kind, ":")
            yield f"        {'|'.join(word.names)}) {reply}; return ;;"


def _bash_operand(word: Word) -> str:
    if word.kind == "choice":
        return f'words+=" {" ".join(word.choices)}"'
    if word.kind == "dir":
        return 'COMPREPLY=($(compgen -d -- "$cur"))'
    files = 'COMPREPLY=($(compgen -f -- "$cur"))'
    return files if word.kind != "session" else f'words+=" $({_IDS})"; {files}'


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
