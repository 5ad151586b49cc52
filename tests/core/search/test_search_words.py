"""Words and queries: what a person types finds what they mean, in every script."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_core.errors import InvalidArgument
from loop_core.model import Piece
from loop_core.search.query import Query, parse
from loop_core.search.result import snippet
from loop_core.search.units import Matcher, Unit, raw_filter
from loop_core.search.words import fold, query_words, words

SCRIPTS = (
    "abc ABC é ß İ ı ſ ﬁ œ ø 漢字仮名 ひらがな ｶﾀｶﾅ ガ 한국어 สวัสดี ไทย हिन्दी العربية עברית Ω ς 😀 "
    "_-./:#0123 \u0301\u3099\u00a0\u200b\u3000"
)


def found(typed: str, text: str, *, typing: bool = False, exact: bool = False) -> bool:
    unit = Unit(0, [Piece(0, 0, "user", text)])
    return Matcher(parse(typed, typing=typing), exact=exact).unit(unit)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("lock", "The Lock is held"),
        ("LOCK", "the lock"),
        ("resume", "Résumé"),
        ("Résumé", "resume"),
        (unicodedata.normalize("NFD", "résumé"), "RÉSUMÉ"),
        ("strasse", "Straße"),
        ("STRASSE", "straße"),
        ("Straße", "STRASSE"),
        ("istanbul", "İstanbul"),
        ("ISTANBUL", "ıstanbul"),
        ("σοφος", "ΣΟΦΌΣ"),
        ("œuvre", "OEUVRE"),
        ("fi", "ﬁ"),
        ("read_history", "def read_history(path):"),
        ("read_history", "`read_history`"),
        ("history", "read_history"),
        ("SessionArchive.delete", "call SessionArchive.delete(ids)"),
        ("core/loop_core/fsio.py", "in core/loop_core/fsio.py, line 3"),
        ("fsio.py", "core/loop_core/fsio.py:12"),
        ("E0432", "error[E0432]: unresolved import"),
        ("e0432", "E0432"),
        ("--exact", "use --exact here"),
        ("0f3c", "id 0f3c-11"),
        ("锁定", "文件被锁定了"),
        ("锁", "文件被锁定了"),
        ("文件 锁定", "文件被锁定了"),
        ("東京", "東京都"),
        ("東京都に", "私は東京都に住む"),
        ("ガラス", "ｶﾞﾗｽの靴"),
        ("がらす", unicodedata.normalize("NFD", "がらす")),
        ("한국", "한국어를"),
        ("한국어", unicodedata.normalize("NFD", "한국어")),
        ("สวัสดี", "ครับสวัสดีครับ"),
        ("हिन्दी", "यह हिन्दी है"),
        ("кот", "Кот спит"),
        ("API設計", "これはAPI設計です"),
        ("設計v2", "新設計v2案"),
    ],
)
def test_what_a_person_types_is_found(typed: str, text: str) -> None:
    assert found(typed, text)


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("lock", "unlock blocks"),
        ('"lost update"', "update lost"),
        ("read_history", "history read"),
        ("锁门", "文件被锁定了"),
        ("lock -file", "lock the file"),
        ("हिन्दी", "हानद"),
    ],
)
def test_what_is_not_meant_is_not_found(typed: str, text: str) -> None:
    assert not found(typed, text)


def test_substrings_are_for_exact() -> None:
    assert found("loc", "unlocked", exact=True)
    assert found("->", "a -> b", exact=True)
    assert not found("loc", "unlocked")


def test_the_last_word_typed_stands_for_its_beginnings() -> None:
    assert found("lock arch", "lock the archive", typing=True)
    assert not found("loc arch", "lock the archive", typing=True)
    assert found('"lost upd', "a lost update", typing=True)
    assert not found('"lost upd"', "a lost update", typing=True)
    assert not found("arch ", "the archive", typing=True)


def test_a_phrase_stays_inside_one_text() -> None:
    pieces = [Piece(0, 0, "user", "the lost"), Piece(0, 1, "user", "update came")]
    assert not Matcher(parse('"lost update"'), exact=False).unit(Unit(0, pieces))
    assert Matcher(parse("lost update"), exact=False).unit(Unit(0, pieces))


def test_filters_are_read() -> None:
    query = parse('lock project:"my shop" role:tool tool:bash is:unread -is:archived model:opus')
    assert [t.words for t in query.terms] == [("lock",)]
    assert query.projects == ("my shop",)
    assert query.roles == ("tool",)
    assert query.tools == ("bash",)
    assert (query.flags, query.no_flags, query.models) == (("unread",), ("archived",), ("opus",))
    day = parse("after:2026-11-01 before:2026-12-01")
    assert day.after_ms is not None
    assert day.before_ms == day.after_ms + 30 * 86_400_000
    assert not day.empty
    assert parse("-draft").empty
    assert parse("http://example.org").terms[0].words == ("http", "example", "org")


@pytest.mark.parametrize(
    "wrong", ["role:nobody", "is:odd", "before:yesterday", "after:2026-13-01", "-project:x"]
)
def test_a_filter_that_is_not_understood_says_so(wrong: str) -> None:
    with pytest.raises(InvalidArgument, match=wrong.strip("-").split(":")[0]):
        parse(wrong)


@pytest.mark.parametrize("half", ["role:", "role:us", "is:unr", "before:2026-", "after:"])
def test_a_filter_half_typed_waits(half: str) -> None:
    assert parse(f"lock {half}", typing=True) == parse("lock ", typing=True)


@given(st.text(SCRIPTS, max_size=40), st.text(SCRIPTS, max_size=40), st.data())
def test_any_stretch_of_whole_words_is_found(before: str, text: str, data: st.DataObject) -> None:
    whole = f"{before} {text}"
    known = words(whole).split()
    typed, begins = query_words(text)
    if typed and not begins:
        joined = f" {' '.join(known)} "
        assert f" {' '.join(typed)} " in joined


@given(st.text(SCRIPTS, min_size=1, max_size=60))
def test_words_do_not_depend_on_case_or_composition(text: str) -> None:
    assert words(unicodedata.normalize("NFD", text)).split() == words(text).split()
    assert words(fold(text)).split() == words(text).split()


@given(st.text(SCRIPTS, max_size=80), st.text(SCRIPTS, min_size=1, max_size=6))
def test_a_match_is_marked_where_it_stands(text: str, typed: str) -> None:
    query = parse(typed)
    if not query.terms or query.without or not query.terms[0].words:
        return
    term = query.terms[0]
    shown = snippet(text, Query(terms=(term,)), exact=False)
    if shown is None:
        return
    for start, stop in shown.spans:
        assert 0 <= start < stop <= len(shown.text)
        marked = words(shown.text[start:stop]).split()
        assert set(marked) & {w for word in term.words for w in (word, word[:1], word[-1:])} or any(
            word in "".join(marked) for word in term.words
        )


def test_what_may_fold_to_ascii_is_never_filtered_away() -> None:
    wanted = raw_filter(parse("needle"), exact=True)
    assert wanted is not None
    assert not wanted(b'{"text":"a haystack"}')
    missed = []
    # Ideographs and Hangul, which fold to their like, and what is no character are left out.
    for code in (*range(128, 0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0x20000)):
        folded = fold(f"x{chr(code)}y")[1:-1]
        if (not folded or any(c.isascii() and c.isalnum() for c in folded)) and not wanted(
            chr(code).encode()
        ):
            missed.append(hex(code))
    assert not missed
    assert not wanted("锁 ガラス “quoted” — ✓ │".encode())


@given(st.text(SCRIPTS + "\0", max_size=60))
def test_stretches_fold_like_the_whole(text: str) -> None:
    assert words(text).split() == words(f" é\n{text}").split()[1:]


def test_a_match_far_into_text_is_shown() -> None:
    """failures row 127: content far into a message is searched, and shown."""
    text = "é " * 400_000 + "Nadel im Heuhaufen " + "ü " * 1000
    shown = snippet(text, parse("nadel"), exact=False)
    assert shown is not None
    (start, stop) = shown.spans[0]
    assert shown.text[start:stop] == "Nadel"


def test_an_excerpt_carries_nothing_a_terminal_acts_on() -> None:
    shown = snippet("a\x1b[31mneedle\x07\u202e b", parse("needle"), exact=True)
    assert shown is not None
    assert not any(ord(c) < 32 or c == "\u202e" for c in shown.text)
