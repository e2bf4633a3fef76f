"""Sessions of the page that were logged out before their time."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "ended_sessions",
        sa.Column("session", sa.String(32), primary_key=True),
        sa.Column("until", sa.Double, nullable=False),
        sqlite_with_rowid=False,
    )
