"""First replies to requests under a key, and a scope for closing rounds.

Keys with the scope `decide` could close rounds until now. They keep that right, so that a program that closes rounds
still does after an update: it would have got 403, and its gate would have stayed in one round. Keys that are made from
now on close rounds only with the scope `rounds`. The audit reads old `key-added` events in the same way.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table, and give the scope to the keys that had the right."""
    op.create_table(
        "replies",
        sa.Column("gate", sa.Integer, primary_key=True),
        sa.Column("key", sa.String(64), primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("status", sa.SmallInteger, nullable=False),
        sa.Column("body", sa.Text),
        sa.Column("at", sa.String(32), nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("replies_by_time", "replies", ["gate", "at"])
    own = "scopes = 'decide' OR scopes LIKE 'decide,%'"
    op.execute(sa.text(f"UPDATE api_keys SET scopes = 'decide,rounds' || substr(scopes, 7) WHERE {own}"))
