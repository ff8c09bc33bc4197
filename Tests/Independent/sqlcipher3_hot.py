#!/usr/bin/env python3
"""Leaves a database of Debian's SQLCipher 3 as a crash does, in the middle of a transaction.

Usage: sqlcipher3_hot.py PATH KEY-HEX JOURNAL
The table t has 300 rows `row 0 …` that are committed; with a journal, a change of all of them was under way.
"""

import subprocess
import sys


def main():
    path, key, journal = sys.argv[1:4]
    process = subprocess.Popen(["sqlcipher", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    statements = f"""
        PRAGMA key = "x'{key}'";
        PRAGMA journal_mode = {journal};
        PRAGMA cache_size = 10;
        CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT);
        WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299)
        INSERT INTO t (body) SELECT 'row ' || i || hex(randomblob(300)) FROM n;
        """
    if journal != "wal":
        statements += "BEGIN; CREATE TABLE u (x); UPDATE t SET body = 'lost' || body || body;"
    process.stdin.write(statements + "SELECT 'ready';\n")
    process.stdin.flush()
    while process.stdout.readline() not in ("ready\n", ""):
        pass
    process.kill()
    process.wait()


if __name__ == "__main__":
    main()
