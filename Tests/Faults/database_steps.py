#!/usr/bin/env python3
"""Takes a database through every call by which an operation changes files, with a fault at each.

    database_steps.py AGENT [--operations rekey,alter,work] [--format FORMAT] [--every N] [--seed N]

AGENT is the program DatabaseAgent of this package's tests. Each operation is run once to count its calls, then on a
fresh copy for each call and each fault of the operation:
    rekey   killed, or killed in the middle of a write: afterwards the old key opens the database or the new one does,
            what it holds is whole, and encrypting it anew succeeds and leaves no file behind
    alter   likewise for a soup that gets other indexes: opening the store, which is killed in its turn, goes on with
            it; all entries are there, under the old indexes or the new ones
    work    a read or a write fails (EIO) or the disk is full: whatever was committed is there and nothing else, and a
            failure shows

With --every N only every Nth call is hit. The last line is `N runs, N failed`; the exit code is 1 when anything failed.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
KEYS = [bytes(range(first, first + 32)).hex() for first in (0, 50, 100)]


class Scene:
    """A directory with a database, and the agent that works on it."""

    def __init__(self, options, shim, folder, journal="wal"):
        self.options, self.shim, self.folder, self.journal = options, shim, folder, journal
        self.path = os.path.join(folder, "k.db")

    def run(self, mode, key=KEYS[0], extra="", **fault):
        """Gives the exit code and the lines of the agent, with a fault if there is one."""
        environment = dict(os.environ)
        if fault:
            environment["LD_PRELOAD"] = self.shim
            environment["FI_PREFIX"] = self.folder
            environment.update({"FI_" + name.upper(): str(value) for name, value in fault.items()})
        arguments = [self.options.agent, mode, self.options.format, key, self.path, self.journal]
        done = subprocess.run(arguments + [extra] * bool(extra), env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=120)
        return done.returncode, done.stdout.decode().split("\n")

    def count(self, *arguments, **fault):
        """How many calls a run of the agent makes without a fault."""
        log = self.folder + ".log"
        code, lines = self.run(*arguments, log=log, **fault)
        with open(log) as stream:
            count = len(stream.readlines())
        os.remove(log)
        if code != 0:
            sys.exit(f"{arguments} fails without a fault: {lines}")
        return count


def whole(lines, code):
    return code == 0 and "integrity ok" in lines and "disagreements 0" in lines


def check_rekey(scene, said_done):
    wrong = []
    opened = [number for number in (0, 1) if whole(*reversed(scene.run("check", KEYS[number])))]
    if len(opened) != 1:
        return [f"opens under {len(opened)} of the two keys"]
    if said_done and opened != [1]:
        wrong.append("was done, and the old key opens it")
    code, lines = scene.run("rekey", KEYS[opened[0]], KEYS[2])
    if code != 0 or not whole(*reversed(scene.run("check", KEYS[2]))):
        wrong.append(f"cannot be encrypted anew: {lines[:3]}")
    left = sorted(set(os.listdir(scene.folder)) - {"k.db", "k.db-wal", "k.db-shm"})
    return wrong + [f"left {left}"] * bool(left)


def check_alter(scene, said_done, source):
    # Opening goes on with what was interrupted; that is killed as well, somewhere.
    scene.run("soup-check", at=source.randint(1, 60), act="kill")
    code, lines = scene.run("soup-check")
    right = code == 0 and "wrong 0" in lines and "entries 450" in lines and "integrity ok" in lines
    if not right:
        return [f"the check ended with {code}: {lines[:5]}"]
    if said_done and "indexes many" not in lines:
        return ["was done, and the old indexes are there"]
    return []


def check_work(scene, lines, code):
    told = max([int(line.split()[2]) for line in lines if line.startswith("ack 0 ")], default=0)
    after, found = scene.run("check")
    if not whole(found, after):
        return [f"the check ended with {after}: {found[:3]}"]
    kept = [int(line.split()[2]) for line in found if line.startswith("count 0 ")][0]
    wrong = [f"{told} commits were told of, {kept} are there"] * (kept < told or kept > told + 1)
    if "wrong rows" in lines:
        wrong.append("rows were wrong, and nothing failed")
    if code == 0 and "done" not in lines:
        wrong.append("ended well without being done")
    return wrong


def one_run(scene, operation, fault, source):
    """Gives what went wrong."""
    if operation == "rekey":
        code, lines = scene.run("rekey", KEYS[0], KEYS[1], **fault)
        return check_rekey(scene, "done" in lines)
    if operation == "alter":
        code, lines = scene.run("soup-alter", **fault)
        return check_alter(scene, "done" in lines, source)
    code, lines = scene.run("work", reads=1, **fault)
    return check_work(scene, lines, code)


PLANS = {
    # the operation: how its database is made, what is run, its journal modes, its faults
    "rekey": (["make", "work"], ("rekey", KEYS[0], KEYS[1]), ["wal"], ["kill", "torn"]),
    "alter": (["soup-make"], ("soup-alter",), ["wal"], ["kill", "torn"]),
    "work": (["make"], ("work",), ["wal", "delete"], ["EIO", "ENOSPC", "short"]),
}


def matrix(options, shim, operation, journal, root):
    preparation, arguments, _, faults = PLANS[operation]
    source = random.Random(options.seed)
    template = Scene(options, shim, os.path.join(root, "template"), journal)
    os.mkdir(template.folder)
    for mode in preparation:
        code, lines = template.run(mode)
        if code != 0:
            sys.exit(f"the database could not be made: {lines}")
    scene = Scene(options, shim, os.path.join(root, "run"), journal)
    shutil.copytree(template.folder, scene.folder)
    reads = {"reads": 1} if operation == "work" else {}
    points = scene.count(*arguments, **reads)
    runs = failed = 0
    for point in range(1 + source.randrange(options.every), points + 1, options.every):
        for fault in faults:
            shutil.rmtree(scene.folder)
            shutil.copytree(template.folder, scene.folder)
            runs += 1
            for line in one_run(scene, operation, {"at": point, "act": fault}, source):
                failed += 1
                print(f"{operation} {journal}, {fault} at {point}: {line}")
    print(f"{options.format} {operation} {journal}: {points} calls, {runs} runs, {failed} failed", flush=True)
    return runs, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("agent")
    parser.add_argument("--operations", default="rekey,alter,work")
    parser.add_argument("--format", default="gcm1")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    total = [0, 0]
    with tempfile.TemporaryDirectory(prefix="coffer-steps-") as root:
        root = os.path.realpath(root)
        shim = os.path.join(root, "faultshim.so")
        subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", shim, os.path.join(HERE, "faultshim.c"), "-ldl"],
                       check=True)
        for operation in options.operations.split(","):
            for journal in PLANS[operation][2]:
                with tempfile.TemporaryDirectory(dir=root) as folder:
                    total = [sum(pair) for pair in zip(total, matrix(options, shim, operation, journal, folder))]
    print(f"{total[0]} runs, {total[1]} failed")
    sys.exit(1 if total[1] or not total[0] else 0)


if __name__ == "__main__":
    main()
