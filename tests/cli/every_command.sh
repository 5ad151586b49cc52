#!/usr/bin/env bash
# Every command on a demo store, as a person's script would use it: piped to head, its JSON
# taken apart by other programs, its exit status relied upon.
#
# usage: every_command.sh DIR PROGRAM …   (PROGRAM: how loop-tui is started)
#
# Writes what --json printed to DIR/json/COMMAND and words for people to DIR/words.
set -euo pipefail
dir=$1
shift
program=("$@")
mkdir -p "$dir/json" "$dir/bin"
exec 2>"$dir/words"

fail() {
    echo "every_command.sh: $*" >>"$dir/failed"
}

tui() { "${program[@]}" "$@"; }
on() { tui "$@" --agent-dir "$dir/demo/loop" --craft-dir "$dir/demo/craft"; }

# json NAME COMMAND …: keep what it prints, after checking that a line is there.
json() {
    local name=$1
    shift
    on "$@" --json >"$dir/json/$name.out" || fail "$name: status $?"
    cat "$dir/json/$name.out" >>"$dir/json/$name"
    [ -s "$dir/json/$name.out" ] || fail "$name printed nothing"
    rm "$dir/json/$name.out"
}

# status WANTED COMMAND …: its exit status, with nothing on stdout.
status() {
    local wanted=$1 got=0 out
    shift
    out=$(on "$@") || got=$?
    [ "$got" = "$wanted" ] || fail "$*: status $got instead of $wanted"
    [ -z "$out" ] || fail "$* printed: $out"
}

# What jq would do, with the tools every system has: the value of a string key in the first
# object. (head would end early, and pipefail tell of it.)
value() { awk -v key="\"$1\":\"" '!done && (at = index($0, key)) {
    rest = substr($0, at + length(key)); print substr(rest, 1, index(rest, "\"") - 1); done = 1 }'; }

tui demo "$dir/demo"

# A pipe that closes early ends each command quietly, with the status of work done.
on list --view all --json | head -n 1 >"$dir/first" || fail "list | head: status $?"
on show "$(value id <"$dir/first")" --rounds 500 | head -n 1 | grep -q . || fail "show | head"
tui completion bash | head -n 1 | grep -q '^#' || fail "completion | head"

json list list --view all
loop=$(grep '"source":"loop"' "$dir/json/list" | grep '"pinnedAt":null,"archived":false' |
    grep '"problem":null' | grep -v '"messageCount":0' | grep 'meta.json' |
    grep -v old-prototype)
id=$(echo "$loop" | value id)
path=$(echo "$loop" | value path)
craft=$(grep '"source":"craft"' "$dir/json/list" | grep '"problem":null' | value id)

# Looking.
json show show "$id"
json show show "$craft" --rounds 1
json check check "$path"
json search search lock --limit 3
json paths paths
on export "$path" --format md | head -n 1 | grep -q '^# ' || fail "export md | head"
on export "$craft" -o "$dir/page.html" || fail "export to a file"
status 1 export "$craft" -o "$dir/page.html"
on export "$id" --format json >"$dir/json/export" || fail "export json"

# Changing, and back.
for command in pin unpin unread read archive restore trash; do
    json "$command" "$command" "$id"
done
json undo undo
json redo redo
json purge purge "$id" --yes

# Bytes that nobody can reach any more: what the preview says is what goes.
other=$(grep '"source":"loop"' "$dir/json/list" | grep 'meta.json' | grep '"problem":null' |
    grep '"archived":true' | value path)
touch -d '2 hours ago' "$(dirname "$other")"/*
json reclaim reclaim "$other" --dry-run
on reclaim --yes --json "$other" | cmp -s - "$dir/json/reclaim" || fail "reclaim is no preview"

# The agent's own program, in the session's folder.
printf '#!/bin/sh\npwd >"%s/ran"\nexit 5\n' "$dir" >"$dir/bin/loop"
chmod +x "$dir/bin/loop"
PATH=$dir/bin:$PATH status 5 resume "$other"
[ -s "$dir/ran" ] || fail "resume ran nothing"

# Refusals and mistakes.
status 1 resume "$craft"
status 1 show no-such-session
status 1 pin "$other" --read-only
status 2 list --view nothing
status 2 purge "$other"

[ ! -e "$dir/failed" ] || { cat "$dir/failed"; exit 1; }
