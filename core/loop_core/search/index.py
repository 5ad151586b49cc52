"""The full-text index: tantivy documents, one a round and one a title.

Words come ready from `words`, so the index only splits at spaces and agrees with the scan.
Nothing of the text is stored but the inverted lists: excerpts are read from the sessions.
Importing this module needs the package ``tantivy``; `available` says whether it is there.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar

from loop_core import fsio
from loop_core.errors import InvalidArgument, StorageFailed
from loop_core.model import Stamp
from loop_core.search.query import ROLES, Query, Role, Term
from loop_core.search.units import TITLE_ROUND, Unit
from loop_core.search.words import words

if TYPE_CHECKING:
    import tantivy

__all__ = ["DocumentHit", "IndexFailed", "SearchIndex", "available"]

_P = ParamSpec("_P")
_R = TypeVar("_R")

_TITLE_BOOST = 3.0
_META, _META_LIMIT = "meta.json", 64 << 20
_SMALL, _LARGE = 32 << 20, 192 << 20  # bytes of the writer's arena


class IndexFailed(Exception):
    """The engine cannot go on: a damaged or foreign directory, a full disk, a lock held."""

    def storage_failed(self, path: str) -> StorageFailed:
        """The same as the operating system's word, for a front end."""
        full = "No space left" in str(self) or "os error 28" in str(self)
        return StorageFailed(OSError(errno.ENOSPC if full else errno.EIO, str(self)), path)


def _asks_engine(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """Every way the engine fails, its panics among them, as `IndexFailed`."""

    @wraps(method)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return method(*args, **kwargs)
        except (ValueError, OSError) as error:
            if isinstance(error, InvalidArgument):
                raise
            raise IndexFailed(str(error)) from error
        except BaseException as error:
            # The engine's panics are no Exception, and their type cannot be imported.
            if type(error).__name__ != "PanicException":
                raise
            raise IndexFailed(f"the engine gave up: {error}") from None

    return run


class DocumentHit(NamedTuple):
    """One document that answers."""

    number: int
    round: int
    score: float


def available() -> bool:
    """Whether the engine is installed."""
    return find_spec("tantivy") is not None


def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", indexed=True, fast=True)
    builder.add_integer_field("round", indexed=True, fast=True)
    for field in (*ROLES, "tools"):
        builder.add_text_field(field, tokenizer_name="words", index_option="position")
    return builder.build()


class SearchIndex:
    """An index directory. Opened for reading; the methods that take a writer change it.

    Any failure of the engine is an `IndexFailed`; callers fall back to the scan or rebuild.
    """

    def __init__(self, directory: str) -> None:
        self.directory = os.path.join(directory, "documents")
        self._index: tantivy.Index | None = None

    @_asks_engine
    def open(self, *, create: bool = False) -> bool:
        """Open what is there. False: nothing is, and it was not to be created."""
        import tantivy

        if self._index is None:
            if create:
                fsio.make_private_dir(self.directory)
            elif not os.path.isdir(self.directory) or not tantivy.Index.exists(self.directory):
                return False
            index = tantivy.Index(_schema(), path=self.directory)
            analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            index.register_tokenizer("words", analyzer)
            self._index = index
        return True

    def close(self) -> None:
        self._index = None

    def _opened(self) -> tantivy.Index:
        if self._index is None:
            raise InvalidArgument("the index is not open", self.directory)
        return self._index

    def discard(self) -> None:
        """Remove the directory, to build it anew. Raises StorageFailed."""
        self.close()
        if os.path.isdir(self.directory):
            fsio.remove_tree(self.directory)

    @_asks_engine
    def reload(self) -> None:
        """See what another process has committed since."""
        if self._index is not None:
            self._index.reload()

    def files(self) -> dict[str, Stamp]:
        """The data files of what is committed; the engine writes each once.

        Files of a merge that is under way are left out: they still grow.
        """
        with fsio.guarded(self.directory, "listing"):
            names = os.listdir(self.directory)
        meta = fsio.read_file(os.path.join(self.directory, _META), limit=_META_LIMIT)
        segments = meta.replace(b"-", b"")
        stamps = {
            name: fsio.stamp_of(os.path.join(self.directory, name))
            for name in names
            # The engine's lists and locks begin with a dot, and change all the time.
            if name.find(".") > 0 and name.partition(".")[0].encode() in segments
        }
        return {name: stamp for name, stamp in stamps.items() if stamp is not None}

    def intact(self, files: Mapping[str, Stamp]) -> bool:
        """Whether no file of `files` was changed; gone is well: the engine merged it away.

        The engine itself does not look at checksums when it opens, and answers wrongly or
        worse from a damaged file.
        """
        try:
            now = {name: fsio.stamp_of(os.path.join(self.directory, name)) for name in files}
        except StorageFailed:
            return False
        return all(now[name] in (None, stamp) for name, stamp in files.items())

    # --- writing

    @_asks_engine
    def writer(self, *, large: bool) -> Any:
        """The one writer; fails while another process has it."""
        heap, threads = (_LARGE, 2) if large else (_SMALL, 1)
        return self._opened().writer(heap_size=heap, num_threads=threads)

    @staticmethod
    @_asks_engine
    def commit(writer: Any) -> None:
        """Make what was added and removed durable."""
        writer.commit()

    @staticmethod
    @_asks_engine
    def finish(writer: Any) -> None:
        """Let the engine merge to the end; the writer is not used afterwards."""
        writer.wait_merging_threads()

    def _mine(self, number: int) -> Any:
        """The documents of a session. By a query: a bare term would be of the wrong type."""
        import tantivy

        return tantivy.Query.term_query(self._opened().schema, "number", number)

    @_asks_engine
    def remove(self, writer: Any, number: int) -> None:
        """Take every document of a session away."""
        writer.delete_documents_by_query(self._mine(number))

    @_asks_engine
    def remove_from(self, writer: Any, number: int, first_round: int) -> None:
        """Take the title and the rounds from `first_round` on away."""
        import tantivy

        schema, mine = self._opened().schema, self._mine(number)
        for low, high in ((first_round, None), (TITLE_ROUND, TITLE_ROUND)):
            these = tantivy.Query.range_query(
                schema, "round", tantivy.FieldType.Integer, lower_bound=low, upper_bound=high
            )
            both = [(tantivy.Occur.Must, mine), (tantivy.Occur.Must, these)]
            writer.delete_documents_by_query(tantivy.Query.boolean_query(both))

    @staticmethod
    @_asks_engine
    def add_title(writer: Any, number: int, title: str) -> None:
        import tantivy

        document = tantivy.Document()
        document.add_unsigned("number", number)
        document.add_integer("round", TITLE_ROUND)
        document.add_text("title", words(title))
        writer.add_document(document)

    @staticmethod
    @_asks_engine
    def add_unit(writer: Any, number: int, unit: Unit) -> int:
        """Add a round; how many characters of words went in."""
        import tantivy

        document = tantivy.Document()
        document.add_unsigned("number", number)
        document.add_integer("round", unit.round)
        size = 0
        for role in dict.fromkeys(piece.role for piece in unit.pieces):
            text = unit.text(role, words)
            document.add_text(role, text)
            size += len(text)
        tools = unit.tools()
        if tools:
            document.add_text("tools", tools)
        writer.add_document(document)
        return size

    # --- asking

    @_asks_engine
    def sessions(self, query: Query) -> dict[int, int]:
        """Every session number that answers, with how many of its documents do."""
        built = self._build(query)
        if built is None:
            return {}
        buckets = {"terms": {"field": "number", "size": 1_000_000}}
        found = self._opened().searcher().aggregate(built, {"n": buckets})
        return {int(b["key"]): int(b["doc_count"]) for b in found["n"]["buckets"]}

    @_asks_engine
    def documents(
        self, query: Query, *, limit: int, numbers: Iterable[int] | None = None
    ) -> list[DocumentHit]:
        """The best documents, those of `numbers` alone where given."""
        import tantivy

        built = self._build(query)
        if built is None:
            return []
        if numbers is not None:
            wanted = tantivy.Query.term_set_query(self._opened().schema, "number", list(numbers))
            built = tantivy.Query.boolean_query(
                [
                    (tantivy.Occur.Must, built),
                    (tantivy.Occur.Must, tantivy.Query.const_score_query(wanted, 0.0)),
                ]
            )
        searcher = self._opened().searcher()
        hits = searcher.search(built, limit=limit, count=False).hits
        places = [place for _, place in hits]
        numbered: Sequence[Any] = searcher.fast_field_values("number", places)
        rounds: Sequence[Any] = searcher.fast_field_values("round", places)
        return [
            DocumentHit(int(number), int(round_), float(score))
            for (score, _), number, round_ in zip(hits, numbered, rounds, strict=True)
        ]

    def _build(self, query: Query) -> Any:
        """The engine's query; None when neither a word nor a tool is asked for."""
        import tantivy

        schema = self._opened().schema
        roles = query.roles or ROLES
        must, must_not = tantivy.Occur.Must, tantivy.Occur.MustNot
        clauses = [(must, _any_field(schema, term, roles)) for term in query.terms if term.words]
        if query.tools:
            named = [
                (tantivy.Occur.Should, _in_field(schema, "tools", found, begins=False))
                for tool in query.tools
                if (found := tuple(words(tool).split()))
            ]
            clauses.append((must, tantivy.Query.boolean_query(named)))
        if not clauses:
            return None
        clauses += [
            (must_not, _any_field(schema, term, ROLES)) for term in query.without if term.words
        ]
        return tantivy.Query.boolean_query(clauses)


def _any_field(schema: Any, term: Term, roles: Sequence[Role]) -> Any:
    import tantivy

    fields = []
    for role in roles:
        one = _in_field(schema, role, term.words, begins=term.begins)
        fields.append(tantivy.Query.boost_query(one, _TITLE_BOOST) if role == "title" else one)
    if len(fields) == 1:
        return fields[0]
    return tantivy.Query.boolean_query([(tantivy.Occur.Should, one) for one in fields])


def _in_field(schema: Any, field: str, found: tuple[str, ...], *, begins: bool) -> Any:
    import tantivy

    if not found:
        return tantivy.Query.empty_query()
    if begins and len(found) == 1:
        return tantivy.Query.fuzzy_term_query(schema, field, found[0], distance=0, prefix=True)
    if begins:
        # The phrase-prefix query looks at 50 endings only; this one at all there can be.
        row: list[str | tuple[int, str]] = [re.escape(word) for word in found[:-1]]
        return tantivy.Query.regex_phrase_query(schema, field, [*row, re.escape(found[-1]) + ".*"])
    if len(found) == 1:
        return tantivy.Query.term_query(schema, field, found[0])
    return tantivy.Query.phrase_query(schema, field, list(found))
