"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "gates",
        sa.Column("number", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, unique=True),
        sa.Column("secret", sa.LargeBinary, nullable=False),
        sa.Column("last", sa.BigInteger, nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
    )
    op.create_table(
        "events",
        sa.Column("gate", sa.Integer, sa.ForeignKey("gates.number"), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("actor", sa.String(100), nullable=False),
        sa.Column("key", sa.String(200)),
        sa.Column("request", sa.String(64)),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.UniqueConstraint("gate", "key"),
        sqlite_with_rowid=False,
    )
    op.create_index("events_by_round", "events", ["gate", "kind", "round"])
    op.create_table(
        "cases",
        sa.Column("gate", sa.Integer, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("place", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("id", sa.String(200), nullable=False),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("group", sa.SmallInteger, nullable=False),
        sa.Column("score", sa.Double, nullable=False),
        sa.Column("bin", sa.Integer, nullable=False),
        sa.Column("draw", sa.Double, nullable=False),
        sa.Column("accepted", sa.SmallInteger, nullable=False),
        sa.UniqueConstraint("gate", "id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "outcomes",
        sa.Column("gate", sa.Integer, primary_key=True),
        sa.Column("id", sa.String(200), primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("label", sa.SmallInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("outcomes_by_event", "outcomes", ["gate", "seq"])
    op.create_table(
        "overrides",
        sa.Column("gate", sa.Integer, primary_key=True),
        sa.Column("id", sa.String(200), primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("accepted", sa.SmallInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "snapshots",
        sa.Column("gate", sa.Integer, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("library", sa.String(32), nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("gate", sa.Integer, sa.ForeignKey("gates.number"), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("scopes", sa.String(100), nullable=False),
        sa.Column("created", sa.String(32), nullable=False),
        sa.Column("expires", sa.String(32)),
        sa.Column("revoked", sa.String(32)),
    )
