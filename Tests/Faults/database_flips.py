#!/usr/bin/env python3
"""Flips one bit of a journal or a WAL that a killed process left, opens the database, and does it again.

Each time the rows must be right, or there is an error and every byte of database and log is as it was. Of a
WAL, whose checksum ends at the bit, the transaction may also be gone, as it is with SQLite itself.

Usage: database_flips.py AGENT [--flips N] [--journal MODE]... [--format FORMAT]... [--seed N]
AGENT is the program DatabaseAgent of this package's tests.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

KEY = bytes(range(32)).hex()
ROWS = 300


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


def leave_hot(agent, scene):
    """Database and log as a killed process leaves them."""
    process = subprocess.Popen(
        [agent, "hot", *scene, str(ROWS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    process.kill()
    process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("agent")
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--journal", action="append")
    parser.add_argument("--format", action="append")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    source = random.Random(options.seed)
    failures = 0
    for kind in options.format or ["gcm1", "sqlcipher4"]:
        for journal in options.journal or ["delete", "persist", "truncate", "wal"]:
            folder = tempfile.mkdtemp(prefix="coffer-flips-")
            try:
                path = os.path.join(folder, "k.db")
                log_path = path + ("-wal" if journal == "wal" else "-journal")
                scene = [kind, KEY, path, journal]
                leave_hot(options.agent, scene)
                main_file, log = read(path), read(log_path)
                end = len(log) if journal == "wal" else flushed(log)
                counts = {"right": 0, "error": 0, "gone": 0}
                for number in range(options.flips):
                    # One in ten in the first header.
                    place = source.randrange(28 if number % 10 == 0 else end)
                    flipped = bytearray(log)
                    flipped[place] ^= 1 << source.randrange(8)
                    for name in os.listdir(folder):
                        os.unlink(os.path.join(folder, name))
                    write(path, main_file)
                    write(log_path, flipped)
                    run = subprocess.run(
                        [options.agent, "rows", *scene], stdin=subprocess.DEVNULL, capture_output=True,
                        timeout=60)
                    lines = run.stdout.decode().split("\n")
                    is_whole = run.returncode == 0 and lines[0] == "integrity ok"
                    if is_whole and lines[1] == f"rows {ROWS} right":
                        counts["right"] += 1
                    elif is_whole and journal == "wal" and lines[1] == "rows none":
                        counts["gone"] += 1
                    elif run.returncode == 1 and read(path) == main_file and read(log_path) == flipped:
                        counts["error"] += 1
                    else:
                        failures += 1
                        print(f"{kind} {journal}, byte {place}: ended with {run.returncode}: {lines[:2]}")
                print(f"{kind} {journal}: {options.flips} flips, {counts}, {failures} failures so far",
                      flush=True)
            finally:
                shutil.rmtree(folder)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
