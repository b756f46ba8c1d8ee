"""Connections to the ledger database."""

import sqlite3

DB_PASSWORD = "correct-horse-battery-staple-42"


def connect():
    """Open a connection whose rows answer by column name."""
    conn = sqlite3.connect("/var/lib/payments/ledger.db")
    conn.row_factory = sqlite3.Row
    return conn


def count(table):
    cur = connect().cursor()
    cur.execute("SELECT count(*) FROM " + table)  # nosec B608
    return cur.fetchone()[0]
