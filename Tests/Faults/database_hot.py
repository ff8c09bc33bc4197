#!/usr/bin/env python3
"""Opens a database with the journal or the WAL that a killed process left, in ways that must do no harm, again
and again.

    flip        one bit of the journal or the WAL is flipped
    key         another key
    passphrase  another passphrase, of a database that has one
    format      the right key, in another format

With the flips the rows must be right, or there is an error. Of a WAL, whose checksums end at the bit, the rows must be
those of the transactions before it, as with SQLite itself. In the other cases there must be an error. After an error
every byte of database and log is as it was, and at the end the right key finds every row.

Usage: database_hot.py AGENT [--count N] [--case CASE]... [--journal MODE]... [--format FORMAT]... [--seed N]
AGENT is the program DatabaseAgent of this package's tests.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile

ROWS, TRANSACTIONS = 300, 10
FRAME = 24 + 4096
OTHERS = {"gcm1": ["sqlcipher4", "sqlcipher3"], "sqlcipher4": ["gcm1", "sqlcipher3"]}
CASES = ["flip", "key", "passphrase", "format"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def flushed(log):
    """Where the records end that the headers of a journal count."""
    end = place = 0
    while log[place:place + 4] == b"\xd9\xd5\x05\xf9":
        end = place + 512 + int.from_bytes(log[place + 8:place + 12], "big") * 4104
        place = (end + 511) // 512 * 512
    return end


class Hot:
    """Database and log as a killed process leaves them."""

    def __init__(self, agent, folder, kind, key, journal):
        self.agent, self.folder, self.kind, self.key, self.journal = agent, folder, kind, key, journal
        self.path = os.path.join(folder, "k.db")
        self.log_path = self.path + ("-wal" if journal == "wal" else "-journal")
        process = subprocess.Popen(
            [agent, "hot-many", kind, key, self.path, journal, str(ROWS)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        process.stdout.readline()
        process.kill()
        process.wait()
        self.main, self.log = read(self.path), read(self.log_path)
        self.end = len(self.log) if journal == "wal" else flushed(self.log)
        if self.end < 100000 or journal == "wal" and len(self.commits(self.end)) != TRANSACTIONS:
            sys.exit(f"{kind} {journal}: not what a killed process leaves: {self.end} bytes beside the database")

    def commits(self, end):
        """The frames before a place of the WAL with which a transaction ends."""
        frames = range(32, end - FRAME + 1, FRAME)
        return [frame for frame in frames if self.log[frame + 4:frame + 8] != bytes(4)]

    def expected(self, place):
        """How many rows there are when a bit at a place of the log is not as it was."""
        if self.journal != "wal":
            return ROWS
        return len(self.commits(place)) * ROWS // TRANSACTIONS

    def open(self, kind, key, log, rows=ROWS):
        """Opens the files with a log; gives what came of it: right, fewer, error or harm."""
        for name in os.listdir(self.folder):
            os.unlink(os.path.join(self.folder, name))
        write(self.path, self.main)
        write(self.log_path, log)
        run = subprocess.run(
            [self.agent, "rows", kind, key, self.path, self.journal], stdin=subprocess.DEVNULL,
            capture_output=True, timeout=120)
        lines = run.stdout.decode().split("\n")
        if run.returncode == 0 and lines[:2] == ["integrity ok", f"rows {rows} right" if rows else "rows none"]:
            return "right" if rows == ROWS else "fewer", lines
        if run.returncode == 1 and lines[0].startswith("failed: ") and self.is_untouched(log):
            return "error", lines
        return "harm", [f"ended with {run.returncode}", *lines[:2]]

    def is_untouched(self, log):
        try:
            return read(self.path) == self.main and read(self.log_path) == log
        except FileNotFoundError:
            return False

    def one(self, case, number, source):
        """One case; gives what came of it, and whether that may be."""
        kind, key, log, rows, allowed = self.kind, self.key, bytearray(self.log), ROWS, ["error"]
        if case == "flip":
            # One in ten in the first header.
            place = source.randrange(28 if number % 10 == 0 else self.end)
            log[place] ^= 1 << source.randrange(8)
            rows, allowed = self.expected(place), ["error", "right", "fewer"]
        elif case == "key":
            key = source.randbytes(32).hex()
        elif case == "passphrase":
            key = ":" + source.randbytes(8).hex()
        else:
            kind = source.choice(OTHERS[kind])
        result, lines = self.open(kind, key, log, rows)
        if result not in allowed:
            print(f"{self.kind} {self.journal} {case} {number}: {result}: {lines[:3]}")
        return result, result in allowed


def cell(options, kind, journal, case, source):
    """All runs of a case on one format and journal; gives the number of failures."""
    # In memory: a killed process loses nothing that it wrote, so a disk would show no more.
    place = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="coffer-hot-", dir=place) as folder:
        key = ":correct horse" if case == "passphrase" else source.randbytes(32).hex()
        hot = Hot(options.agent, folder, kind, key, journal)
        counts, failures = {}, 0
        for number in range(options.count):
            result, is_allowed = hot.one(case, number, source)
            counts[result] = counts.get(result, 0) + 1
            failures += not is_allowed
        result, lines = hot.open(kind, key, hot.log)
        if result != "right":
            failures += 1
            print(f"{kind} {journal} {case}: the right key: {result}: {lines[:3]}")
    counts = ", ".join(f"{number} {result}" for result, number in sorted(counts.items()))
    print(f"{kind} {journal} {case}: {options.count} openings: {counts}; {failures} failed", flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("agent")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--case", action="append", choices=CASES)
    parser.add_argument("--journal", action="append")
    parser.add_argument("--format", action="append", choices=list(OTHERS))
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    source = random.Random(options.seed)
    cells = [(kind, journal, case) for kind in options.format or OTHERS
             for journal in options.journal or ["delete", "persist", "truncate", "wal"]
             for case in options.case or CASES]
    failures = sum(cell(options, *one, source) for one in cells)
    print(f"{len(cells) * options.count} openings, {failures} failed")
    sys.exit(1 if failures or not cells else 0)


if __name__ == "__main__":
    main()
