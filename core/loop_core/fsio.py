"""Files: bounded reads, private durable writes, compare-and-swap, locks, trees.

With its helpers ``fsio_*`` the only module that opens files for writing. Every `OSError`
becomes a `StorageFailed` that names the path. Whatever fails, the file on disk is the one
from before or the one from after, and no temporary of ours stays; what a killed process
leaves carries our mark in its name and is dealt with by `recover_temporaries`.

Reads never hang: a FIFO, socket, device or directory where a file is meant is an error.
"""

from loop_core.fsio_base import (
    MARK,
    guarded,
    now_ns,
    open_regular,
    read_file,
    read_file_stamped,
    read_optional,
    read_range,
    stamp_from,
    stamp_of,
    sync_dir,
)
from loop_core.fsio_exchange import exchange, has_exchange, resolve_link
from loop_core.fsio_lock import lock_dir
from loop_core.fsio_swap import Changed, is_our_temporary, recover_temporaries
from loop_core.fsio_tree import copy_tree, move_tree, remove_tree, rename, tree_size
from loop_core.fsio_write import (
    append,
    append_line,
    atomic_write,
    create_by_link,
    make_private_dir,
    remove_file,
    write_new,
)

__all__ = [
    "MARK",
    "Changed",
    "append",
    "append_line",
    "atomic_write",
    "copy_tree",
    "create_by_link",
    "exchange",
    "guarded",
    "has_exchange",
    "is_our_temporary",
    "lock_dir",
    "make_private_dir",
    "move_tree",
    "now_ns",
    "open_regular",
    "read_file",
    "read_file_stamped",
    "read_optional",
    "read_range",
    "recover_temporaries",
    "remove_file",
    "remove_tree",
    "rename",
    "resolve_link",
    "stamp_from",
    "stamp_of",
    "sync_dir",
    "tree_size",
    "write_new",
]
