#!/usr/bin/env python3
"""Kills processes that write and read one encrypted database, again and again.

Each round: five writers and two readers, all killed with SIGKILL after a random time. Then the database must
hold together, and every commit that a writer acknowledged must be there.

Usage: database_kill.py AGENT [--rounds N] [--journal MODE]... [--format FORMAT] [--seed N]
AGENT is the program DatabaseAgent of this package's tests.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

KEY = bytes(range(32)).hex()


def start(agent, mode, scene, number=0):
    return subprocess.Popen(
        [agent, mode, scene["format"], KEY, scene["path"], scene["journal"], str(number)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


def run(agent, mode, scene):
    process = start(agent, mode, scene)
    out, _ = process.communicate(timeout=120)
    return process.returncode, out.decode().split("\n")


def one_round(agent, scene, source, acknowledged):
    """Lets them work, kills them, checks; gives what went wrong."""
    writers = [start(agent, "write", scene, number) for number in range(5)]
    readers = [start(agent, "read", scene) for _ in range(2)]
    everybody = writers + readers
    for process in everybody:
        first = process.stdout.readline().decode().strip()
        if first != "ready":
            for other in everybody:
                other.kill()
            return ["a process did not begin: " + first]
    time.sleep(source.uniform(0.005, 0.25))
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
    if code != 0 or "integrity ok" not in lines or "disagreements 0" not in lines:
        wrong.append(f"the check ended with {code}: {lines[:4]}")
    counts = {words[1]: int(words[2]) for words in map(str.split, lines) if words[:1] == ["count"]}
    for writer, steps in acknowledged.items():
        if counts.get(writer, 0) < steps:
            wrong.append(f"writer {writer} was told of {steps} commits, {counts.get(writer)} are there")
    acknowledged.update(counts)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("agent")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--journal", action="append")
    parser.add_argument("--format", default="gcm1")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    source = random.Random(options.seed)
    failures = 0
    for journal in options.journal or ["wal", "delete", "truncate", "persist"]:
        folder = tempfile.mkdtemp(prefix="coffer-kill-")
        try:
            scene = {"format": options.format, "path": os.path.join(folder, "k.db"), "journal": journal}
            code, lines = run(options.agent, "make", scene)
            if code != 0:
                sys.exit(f"the database could not be made: {lines}")
            acknowledged = {}
            for number in range(options.rounds):
                for line in one_round(options.agent, scene, source, acknowledged):
                    failures += 1
                    print(f"{journal}, round {number}: {line}")
            print(f"{options.format} {journal}: {options.rounds} rounds, "
                  f"{sum(acknowledged.values())} commits, {failures} failures so far", flush=True)
        finally:
            shutil.rmtree(folder)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
