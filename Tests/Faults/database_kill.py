#!/usr/bin/env python3
"""Kills processes that write and read one encrypted database, again and again.

Each round: five writers and two readers with caches of 10 to 2000 pages, all killed with SIGKILL after a random
time, at most --longest seconds. The writers also take changes back to a savepoint. Then the database must hold together, every commit that
a writer acknowledged must be there, and nothing that was taken back.

Usage: database_kill.py AGENT [--rounds N] [--commits N] [--longest SECONDS] [--journal MODE]...
                        [--format FORMAT] [--seed N]
With --commits there are as many rounds as it takes. A database is begun every hundred rounds.
AGENT is the program DatabaseAgent of this package's tests.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time

CACHES = [10, 20, 60, 300, 2000]
KEY = bytes(range(32)).hex()


def start(agent, mode, scene, number=0, cache=20):
    return subprocess.Popen(
        [agent, mode, scene["format"], KEY, scene["path"], scene["journal"], str(number), str(cache)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def run(agent, mode, scene):
    process = start(agent, mode, scene)
    out, _ = process.communicate(timeout=120)
    return process.returncode, out.decode().split("\n")


def one_round(agent, scene, source, acknowledged, longest):
    """Lets them work, kills them, checks; gives what went wrong."""
    writers = [start(agent, "write", scene, number, source.choice(CACHES)) for number in range(5)]
    readers = [start(agent, "read", scene, cache=source.choice(CACHES)) for _ in range(2)]
    everybody = writers + readers
    for process in everybody:
        first = process.stdout.readline().decode().strip()
        if first != "ready":
            for other in everybody:
                other.kill()
            return ["a process did not begin: " + first]
    # They begin together, so that none waits for a lock while it opens the database.
    for process in everybody:
        process.stdin.close()
    time.sleep(source.uniform(0.005, longest))
    source.shuffle(everybody)
    wrong = []
    for process in everybody:
        if process.poll() is not None:
            wrong.append(f"a process ended by itself with {process.returncode}")
        process.kill()
    for process in everybody:
        for line in process.stdout.read().decode().split("\n"):
            words = line.split()
            if len(words) == 3 and words[0] == "ack":
                acknowledged[words[1]] = max(acknowledged.get(words[1], 0), int(words[2]))
            elif line.startswith("failed"):
                wrong.append(line)
        process.wait()
    code, lines = run(agent, "check", scene)
    if code != 0 or "integrity ok" not in lines or not {"disagreements 0", "taken back 0"} <= set(lines):
        wrong.append(f"the check ended with {code}: {lines[:4]}")
    counts = {words[1]: int(words[2]) for words in map(str.split, lines) if words[:1] == ["count"]}
    for writer, steps in acknowledged.items():
        if counts.get(writer, 0) < steps:
            wrong.append(f"writer {writer} was told of {steps} commits, {counts.get(writer)} are there")
    acknowledged.update(counts)
    return wrong


def hundred(options, scene, source, done):
    """A new database, and rounds on it until enough are done; returns the rounds, the commits and the failures."""
    code, lines = run(options.agent, "make", scene)
    if code != 0:
        sys.exit(f"the database could not be made: {lines}")
    acknowledged, failures = {}, 0
    for number in range(1, 101):
        for line in one_round(options.agent, scene, source, acknowledged, options.longest):
            failures += 1
            print(f"{scene['journal']}, round {number}: {line}", flush=True)
        commits = sum(acknowledged.values())
        if done(number, commits):
            break
    return number, commits, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("agent")
    parser.add_argument("--rounds", type=int, default=100, help="of each journal mode")
    parser.add_argument("--commits", type=int, help="of each journal mode, instead of rounds")
    parser.add_argument("--longest", type=float, default=0.25, help="seconds that a round may take")
    parser.add_argument("--journal", action="append")
    parser.add_argument("--format", default="gcm1")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    source = random.Random(options.seed)
    failures = 0
    for journal in options.journal or ["wal", "delete", "truncate", "persist"]:
        rounds = commits = 0

        def done(more_rounds, more_commits):
            if options.commits:
                return commits + more_commits >= options.commits
            return rounds + more_rounds >= options.rounds

        while not done(0, 0):
            with tempfile.TemporaryDirectory(prefix="coffer-kill-") as folder:
                scene = {"format": options.format, "path": os.path.join(folder, "k.db"), "journal": journal}
                added = hundred(options, scene, source, done)
            rounds, commits, failures = rounds + added[0], commits + added[1], failures + added[2]
        print(f"{options.format} {journal}: {rounds} rounds, {commits} commits, {failures} failures so far",
              flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
