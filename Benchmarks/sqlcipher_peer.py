"""SQLCipher for `bench`: executes one command per line on one database, after its own start-up.

Commands: `open PATH KEY-HEX`, `run SQL` (prints the first value), `commits COUNT ROWS SQL`, `close`,
`version`. Each has one line of answer: `ok VALUE` or `failed REASON`.
"""

import os
import sys

import sqlcipher3

connection = None


def connect(path, key):
    made = sqlcipher3.connect(path, isolation_level=None)
    made.execute("PRAGMA key = \"x'%s'\"" % key)
    made.execute("PRAGMA journal_mode = WAL")
    made.execute("PRAGMA synchronous = NORMAL")
    made.execute("PRAGMA cache_size = -2000")
    return made


def first(cursor):
    row = cursor.fetchone()
    return "" if row is None else row[0]


def answer(line):
    global connection
    verb, _, rest = line.partition(" ")
    if verb == "open":
        connection = connect(*rest.rsplit(" ", 1))
    elif verb == "run":
        return first(connection.execute(rest))
    elif verb == "commits":
        count, rows, sql = rest.split(" ", 2)
        for number in range(int(count)):
            connection.execute(sql, (number % int(rows) + 1,))
    elif verb == "close":
        connection.close()
    elif verb == "version":
        return first(sqlcipher3.connect(":memory:").execute("PRAGMA cipher_version"))
    else:
        raise ValueError("no such command")
    return ""


for line in sys.stdin:
    try:
        reply = "ok %s" % answer(line.rstrip("\n"))
    except Exception as error:
        reply = "failed %s" % str(error).replace("\n", " ")
    os.write(1, (reply + "\n").encode())
