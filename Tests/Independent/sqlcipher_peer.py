#!/usr/bin/env python3
"""SQLCipher itself, in a process of its own, for the tests of what it and this package read of each other.

Usage: sqlcipher_peer.py MODE PATH KEY-HEX [JOURNAL]
  version     prints SQLCipher's version
  make        makes the table t with 300 rows
  read        prints the integrity, what does not authenticate, and the rows of t
  hot         leaves work that is not in the database file, prints `ready`, waits to be killed
  passphrase  as make, with KEY-HEX as a passphrase
  smartstore  as passphrase, with 4000 rounds of the derivation and, with JOURNAL, that page size
A mode with `-header` behind it: with a plaintext header of 32 bytes and a salt of zeros.
"""

import sys

import sqlcipher3


def connect(path, key, is_raw=True):
    connection = sqlcipher3.connect(path, isolation_level=None)
    connection.execute("PRAGMA key = \"x'%s'\"" % key if is_raw else "PRAGMA key = '%s'" % key)
    return connection


def fill(connection, count):
    connection.execute("BEGIN")
    connection.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, body TEXT)")
    for number in range(count):
        connection.execute("INSERT INTO t (body) VALUES (?)", (f"row {number} " + "y" * 900,))
    connection.execute("COMMIT")


def main():
    mode, path, key = sys.argv[1:4]
    connection = connect(path, key, not mode.startswith(("passphrase", "smartstore")))
    if mode.endswith("-header"):
        mode = mode.removesuffix("-header")
        connection.execute("PRAGMA cipher_plaintext_header_size = 32")
        connection.execute("PRAGMA cipher_salt = \"x'%s'\"" % ("00" * 16))
    if mode == "smartstore":
        connection.execute("PRAGMA kdf_iter = 4000")
        if len(sys.argv) > 4:
            connection.execute(f"PRAGMA cipher_page_size = {int(sys.argv[4])}")
        mode = "passphrase"
    if mode == "version":
        print(connection.execute("PRAGMA cipher_version").fetchone()[0])
    elif mode in ("make", "passphrase"):
        fill(connection, 300)
    elif mode == "read":
        print("integrity", connection.execute("PRAGMA integrity_check").fetchone()[0])
        print("damaged", len(connection.execute("PRAGMA cipher_integrity_check").fetchall()))
        print("rows", connection.execute("SELECT count(*) FROM t").fetchone()[0])
        print("lost", connection.execute("SELECT count(*) FROM t WHERE body LIKE 'lost%'").fetchone()[0])
    elif mode == "hot":
        journal = sys.argv[4]
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("PRAGMA cache_size = 20")
        fill(connection, 300)
        if journal != "wal":
            connection.execute("BEGIN")
            connection.execute("UPDATE t SET body = 'lost' || body || body")
        print("ready", flush=True)
        sys.stdin.readline()


if __name__ == "__main__":
    main()
