"""Craft-Agents' sessions as a library (S2) and as a store of the browser.

Names follow S2 in Python's form. The storage rules are the application's (craft-format); where
it is unsafe, this package is safe and the function's docstring says so.
"""

from loop_core.craft.header import read_session_header
from loop_core.craft.ids import generate_id, is_valid_id
from loop_core.craft.messages import (
    DroppedLine,
    StoredSession,
    read_session_jsonl,
    write_session_jsonl,
)
from loop_core.craft.queue import (
    SessionPersistenceQueue,
    header_signature,
    save_session,
    update_session_metadata,
)
from loop_core.craft.sessions import (
    create_session,
    delete_session,
    ensure_session_dir,
    filter_sessions,
    get_session_file_path,
    get_session_path,
    list_sessions,
    load_session,
)
from loop_core.craft.statuses import load_labels, load_statuses
from loop_core.craft.tokens import expand_session_path, make_session_path_portable
from loop_core.craft.workspaces import (
    config_dirs,
    discover_workspaces,
    get_config_dir,
    load_workspaces,
)

__all__ = [
    "DroppedLine",
    "SessionPersistenceQueue",
    "StoredSession",
    "config_dirs",
    "create_session",
    "delete_session",
    "discover_workspaces",
    "ensure_session_dir",
    "expand_session_path",
    "filter_sessions",
    "generate_id",
    "get_config_dir",
    "get_session_file_path",
    "get_session_path",
    "header_signature",
    "is_valid_id",
    "list_sessions",
    "load_labels",
    "load_session",
    "load_statuses",
    "load_workspaces",
    "make_session_path_portable",
    "read_session_header",
    "read_session_jsonl",
    "save_session",
    "update_session_metadata",
    "write_session_jsonl",
]
