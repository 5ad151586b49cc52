"""Full text over every store: one query language, two engines that agree.

`words` turns text into words, `query` reads what a person typed, `units` is what a query is
held against (a title, or one round's text), `scan` answers from the files alone, `index` and
`catalog` from a tantivy index in the cache directory, `engine` chooses and explains. The
index is a cache: whatever happens to it, the answer comes from the scan.
"""
