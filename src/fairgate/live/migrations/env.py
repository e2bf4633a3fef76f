"""How alembic runs the migrations: in the transaction of the connection that `fairgate.live.preparing` hands over."""

from alembic import context

from fairgate.live.schema import METADATA

attributes = context.config.attributes
context.configure(
    connection=attributes["connection"],
    target_metadata=METADATA,
    version_table=attributes["version_table"],
    compare_type=True,
)
context.run_migrations()
