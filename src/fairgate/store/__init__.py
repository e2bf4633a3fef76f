"""The store: work that is kept and found again, the code that made it, and files that are whole or not there."""

from fairgate.progress import Say
from fairgate.store.code import code_digest, makers_of
from fairgate.store.files import (
    file_hash,
    file_name,
    plain,
    prepare_folder,
    read_saved,
    read_table,
    table_bytes,
    write_bytes,
    write_table,
    write_text,
)
from fairgate.store.work import Bundle, Index, Work, complete, one_by_one

__all__ = [
    "Bundle",
    "Index",
    "Say",
    "Work",
    "code_digest",
    "complete",
    "file_hash",
    "file_name",
    "makers_of",
    "one_by_one",
    "plain",
    "prepare_folder",
    "read_saved",
    "read_table",
    "table_bytes",
    "write_bytes",
    "write_table",
    "write_text",
]
