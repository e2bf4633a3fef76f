"""Subjects: the key of their pseudonyms, and the pseudonym of each application that was given one."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the columns, and the index by which a subject is known again."""
    op.add_column("gates", sa.Column("subject_key", sa.LargeBinary))
    op.add_column("cases", sa.Column("subject", sa.String(32)))
    op.create_index("cases_by_subject", "cases", ["gate", "subject"], unique=True)
