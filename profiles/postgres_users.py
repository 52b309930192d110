"""Users of a PostgreSQL database, each with a connection that it opens again when it is lost. psycopg waits by gevent.

`STATEMENT="select ..." capexplorer run postgres --host 127.0.0.1:5432`; PGUSER, PGPASSWORD and PGDATABASE as for psql.
"""

import os

import psycopg
from locust import User, between, task

WAIT_S = float(os.environ.get("WAIT_S", "0.4"))
STATEMENT = os.environ.get("STATEMENT", "select count(*) from pg_class")


class DatabaseUser(User):
    wait_time = between(0.5 * WAIT_S, 1.5 * WAIT_S)
    connection: psycopg.Connection | None = None

    @task
    def statement(self) -> None:
        self.execute("statement", STATEMENT)

    def execute(self, name: str, statement: str) -> None:
        """One request; an error of the database is its failure, and so is a connection that cannot be opened."""
        with self.environment.events.request.measure("SQL", name):
            if self.connection is None or self.connection.closed:
                self.connection = psycopg.connect(self.url, autocommit=True, connect_timeout=5)
                self.connection.prepare_threshold = None  # a pooler such as PgBouncer gives each statement another session
            self.connection.execute(statement)

    @property
    def url(self) -> str:
        return f"postgresql://{(self.host or '').rpartition('//')[2]}"

    def on_stop(self) -> None:
        if self.connection is not None:
            self.connection.close()
