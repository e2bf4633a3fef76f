"""The store: work that is kept and found again, the code that made it, and files that are whole or not there."""

from fairgate.store.code import code_digest, makers_of
from fairgate.store.files import (
    file_hash,
    file_name,
    plain,
    prepare_folder,
    read_table,
    write_bytes,
    write_table,
    write_text,
)
from fairgate.store.frames import BACKENDS, Backend, as_frame, round_keys
from fairgate.store.work import Say, Work, complete

__all__ = [
    "BACKENDS",
    "Backend",
    "Say",
    "Work",
    "as_frame",
    "code_digest",
    "complete",
    "file_hash",
    "file_name",
    "makers_of",
    "plain",
    "prepare_folder",
    "read_table",
    "round_keys",
    "write_bytes",
    "write_table",
    "write_text",
]
