#!/usr/bin/env python3
"""Shows that no schedule of kills gives a guess at the passcode for nothing.

    guess_schedules.py --coffer PATH [--schedules N] [--seed N] [--jobs 2] [--budget SECONDS] [--json FILE]

A schedule is a home with some failed attempts behind it, then attempts with passcodes that were never tried before,
each killed where the schedule says, then attempts that nobody kills until the home is wiped. faultshim.c kills at every
call by which the check of a passcode changes a file, before it or with half of it written; guesscount.c notes every key
derivation from a passcode, without which nothing can be judged, and kills before or after it. Whatever was derived from
counts as a guess that was evaluated. Of every schedule must hold:

    evaluated  never more than 10 different guesses since the last success
    end        the home is wiped at last, and then the right passcode does not open it

The first schedules are all with one kill and all with two, from nine and eight failures, then with three from seven,
all or as many as there is time for, and some of any length drawn at random. Then 20 processes guess at the same time, some of them killed; and counters that are cut short, emptied, deleted,
exchanged or cannot be written must have every attempt refused without a guess being evaluated. A counter put back from
an older copy must do what SECURITY.md says that it does.

The last line is `N schedules, at most M guesses evaluated, N failed`; the exit code is 1 when anything failed.
Python 3.9 and a C compiler are needed.
"""

import argparse
import concurrent.futures
import contextlib
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

OK, WRONG, WIPED, CORRUPT = 0, 5, 6, 7
LIMIT = 10
RIGHT = b"48392017"
INIT = ["init", "--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2", "--attempt-delays", "off"]
ATTEMPT = ["token", "list"]
SENTENCE = "who copies the home first, or puts an older counter back, guesses without end"
TIME_OUT = 120
here = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    pass


def build(folder, name):
    result = os.path.join(folder, name + ".so")
    source = os.path.join(here, name + ".c")
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", result, source, "-ldl"], check=True)
    return result


class World:
    """A folder in memory with homes to copy, and how the command is run on them."""

    def __init__(self, coffer, root):
        self.coffer, self.root = coffer, root
        self.shims = " ".join([build(root, "faultshim"), build(root, "guesscount")])
        self.numbers, self.lock = itertools.count(1), threading.Lock()
        self.templates = {}
        for name in ("user", "run"):
            os.makedirs(os.path.join(root, name), mode=0o700)
        self.environment = {
            name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        self.environment.update(HOME=os.path.join(root, "user"), XDG_RUNTIME_DIR=os.path.join(root, "run"),
                                LANG="C.UTF-8", SWIFT_BACKTRACE="enable=no")

    def new(self):
        return os.path.join(self.root, "home-%d" % next(self.numbers))

    def start(self, home, arguments, passcode, fault=None, before=()):
        reader, writer = os.pipe()
        os.write(writer, passcode + b"\n")
        os.close(writer)
        environment = dict(self.environment)
        environment.update(LD_PRELOAD=self.shims, GC_LOG=home + ".guesses", FI_PREFIX=home)
        environment.update(fault or {})
        try:
            return subprocess.Popen(
                [*before, self.coffer, *arguments, "--home", home, "--passcode-fd", str(reader)], env=environment,
                pass_fds=[reader], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        finally:
            os.close(reader)

    def run(self, home, arguments, passcode, fault=None, before=()):
        process = self.start(home, arguments, passcode, fault, before)
        try:
            _, errors = process.communicate(timeout=TIME_OUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failed("no end after %d s" % TIME_OUT) from None
        if process.returncode == 97:
            raise Failed("a shim failed: %s" % errors.decode())
        return process.returncode

    def begun(self, home):
        """How many derivations were begun on this home."""
        with contextlib.suppress(FileNotFoundError), open(home + ".guesses", "rb") as stream:
            return stream.read().count(b"b")
        return 0

    def learn(self):
        """The home with no failure, and the calls of one attempt with a wrong passcode."""
        home = os.path.join(self.root, "template-0")
        if self.run(home, INIT, RIGHT) != OK:
            raise Failed("init failed")
        self.forget(home)
        self.templates[0] = home
        for failures in range(1, LIMIT):
            home = self.copy(failures - 1)
            if self.run(home, ATTEMPT, b"template %d" % failures) != WRONG:
                raise Failed("a wrong passcode was not refused as such")
            if self.begun(home) != 1:
                raise Failed("guesscount saw %d derivations of one attempt" % self.begun(home))
            self.forget(home)
            self.templates[failures] = home
        home = self.copy(3)
        log = home + ".calls"
        if self.run(home, ATTEMPT, b"learning", {"FI_ACT": "log", "FI_LOG": log}) != WRONG:
            raise Failed("the attempt that is logged was not refused as wrong")
        with open(log, errors="backslashreplace") as stream:
            self.calls = [line.split(" ")[1] for line in stream]
        self.remove(home)
        if not self.calls:
            raise Failed("the shim saw no call")
        kills = []
        for number, call in enumerate(self.calls, 1):
            kills.append({"FI_ACT": "kill", "FI_AT": str(number)})
            if "write" in call:
                kills.append({"FI_ACT": "torn", "FI_AT": str(number)})
        kills += [{"FI_ACT": "killafter", "FI_AT": str(len(self.calls))}, {"GC_KILL": "before"},
                  {"GC_KILL": "after"}]
        return kills

    def forget(self, home):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(home + ".guesses")

    def copy(self, failures):
        home = self.new()
        copy_tree(self.templates[failures], home)
        return home

    def remove(self, home):
        shutil.rmtree(home, ignore_errors=True)
        for suffix in (".guesses", ".calls"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(home + suffix)


def copy_tree(source, target):
    os.mkdir(target, 0o700)
    for entry in os.scandir(source):
        path = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False):
            copy_tree(entry.path, path)
        else:
            shutil.copyfile(entry.path, path)
            os.chmod(path, 0o600)


def run_schedule(world, failures, kills):
    """One schedule; gives how many guesses were evaluated since the last success, in all."""
    home = world.copy(failures)
    try:
        evaluated, seen = failures, 0
        for number, kill in enumerate([*kills, *[None] * (LIMIT + 2)]):
            code = world.run(home, ATTEMPT, b"guess %d" % number, kill)
            begun = world.begun(home)
            if begun - seen > 1:
                raise Failed("one attempt evaluated %d guesses" % (begun - seen))
            evaluated, seen = evaluated + begun - seen, begun
            if evaluated > LIMIT:
                raise Failed("%d guesses were evaluated" % evaluated)
            if kill is None and code not in (WRONG, WIPED):
                raise Failed("exit %d of attempt %d" % (code, number + 1))
            if kill is None and code == WIPED:
                break
        else:
            raise Failed("not wiped after %d guesses" % evaluated)
        # A process more for each schedule would double the time of the short ones.
        if len(kills) > 2 and world.run(home, ATTEMPT, RIGHT) != WIPED:
            raise Failed("the right passcode opens a wiped home")
        return evaluated
    finally:
        world.remove(home)


def schedules(kills, count, seed):
    """Pairs of failures so far and kills to come: first every single kill and every pair, then drawn ones."""
    ordered = [(9, [kill]) for kill in kills] + [(8, list(pair)) for pair in itertools.product(kills, kills)]
    source = random.Random(seed)
    if count < len(ordered):
        ordered = source.sample(ordered, max(1, count * 2 // 3))
    yield from ordered
    triples = [(7, list(triple)) for triple in itertools.product(kills, repeat=3)]
    rest = max(0, count - len(ordered))
    yield from source.sample(triples, min(len(triples), rest * 9 // 10))
    for _ in range(rest - min(len(triples), rest * 9 // 10)):
        failures = source.choice([0, 2, 4, 5, 6, 7, 8, 9])
        yield failures, [source.choice(kills) for _ in range(source.randint(1, LIMIT + 3 - failures))]


def guess_together(world, kills, source):
    """20 processes at once, every fourth of them killed; gives how many guesses were evaluated."""
    home = world.copy(0)
    try:
        processes = [
            world.start(home, ATTEMPT, b"together %d" % number, source.choice(kills) if number % 4 == 0 else None)
            for number in range(20)]
        codes = []
        for process in processes:
            try:
                process.communicate(timeout=TIME_OUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                raise Failed("one of 20 did not end") from None
            codes.append(process.returncode)
        evaluated = world.begun(home)
        if evaluated > LIMIT:
            raise Failed("20 at once evaluated %d guesses" % evaluated)
        if codes.count(WRONG) > LIMIT - 1 or OK in codes:
            raise Failed("exit codes of 20 at once: %s" % sorted(codes))
        return evaluated
    finally:
        world.remove(home)


def damaged_counters(world):
    """Each damage by its name: attempts with the right passcode are refused, and nothing is evaluated."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []

    def damage(name, home):
        path = os.path.join(home, "vault", "attempts")
        if name == "deleted":
            os.unlink(path)
        elif name == "emptied":
            open(path, "wb").close()
        elif name == "cut short":
            os.truncate(path, 700)
        elif name == "zeros":
            with open(path, "r+b") as stream:
                stream.write(bytes(1024))
        elif name == "of another vault":
            other = world.new()
            world.run(other, INIT, RIGHT)
            shutil.copyfile(os.path.join(other, "vault", "attempts"), path)
            world.remove(other)
        elif name == "a directory":
            os.unlink(path)
            os.mkdir(path)
        elif name == "read-only":
            for folder, folders, files in os.walk(home):
                for entry in [folder, *(os.path.join(folder, file) for file in files)]:
                    if nobody:
                        os.chown(entry, 65534, 65534)
            os.chmod(path, 0o400)

    results = {}
    for name in ("deleted", "emptied", "cut short", "zeros", "of another vault", "a directory", "read-only"):
        home = world.copy(4)
        damage(name, home)
        if name == "read-only" and nobody:
            open(home + ".guesses", "wb").close()
            os.chmod(home + ".guesses", 0o666)
        before = nobody if name == "read-only" else []
        code = world.run(home, ATTEMPT, RIGHT, before=before)
        evaluated = world.begun(home)
        world.remove(home)
        if code in (OK, WRONG) or code < 0 or evaluated:
            raise Failed("counter %s: exit %d, %d guesses evaluated" % (name, code, evaluated))
        results[name] = code
    return results


def put_back(world):
    """With files alone an older counter put back gives more guesses, as SECURITY.md says in these words."""
    with open(os.path.join(here, "..", "..", "SECURITY.md")) as stream:
        if SENTENCE not in " ".join(stream.read().split()):
            raise Failed("SECURITY.md does not say: %s" % SENTENCE)
    home = world.copy(0)
    counter = os.path.join(home, "vault", "attempts")
    with open(counter, "rb") as stream:
        old = stream.read()
    for number in range(2 * LIMIT):
        if world.run(home, ATTEMPT, b"put back %d" % number) != WRONG:
            raise Failed("with the counter put back, attempt %d is not refused as wrong" % (number + 1))
        with open(counter, "r+b") as stream:
            stream.write(old)
    code = world.run(home, ATTEMPT, RIGHT)
    world.remove(home)
    if code != OK:
        raise Failed("with the counter put back, the right passcode ends with %d" % code)


def run_all(options, root):
    world = World(options.coffer, root)
    kills = world.learn()
    print("%d calls in an attempt, %d kills" % (len(world.calls), len(kills)), flush=True)
    end = None if options.budget is None else time.monotonic() + options.budget
    most, done, failures, started = 0, 0, [], time.monotonic()

    def attempt(schedule):
        if end is not None and time.monotonic() > end:
            return None, ""
        try:
            return run_schedule(world, *schedule), ""
        except Failed as problem:
            return None, "%d failures, then %s: %s" % (*schedule, problem)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for evaluated, problem in pool.map(attempt, schedules(kills, options.schedules, options.seed)):
            if problem:
                failures.append(problem)
            elif evaluated is not None:
                most, done = max(most, evaluated), done + 1
                if done % 500 == 0:
                    print("%d schedules, at most %d guesses evaluated, %d s" % (
                        done, most, time.monotonic() - started), flush=True)
    source = random.Random(options.seed)
    try:
        for _ in range(options.rounds):
            most = max(most, guess_together(world, kills, source))
        print("20 processes at once, %d rounds" % options.rounds)
        for name, code in damaged_counters(world).items():
            print("counter %s: refused with exit %d, nothing evaluated" % (name, code))
        put_back(world)
        print("an older counter put back gives more guesses, as SECURITY.md says")
    except Failed as problem:
        failures.append(str(problem))
    for failure in failures[:10]:
        print("FAILED " + failure)
    if options.json:
        with open(options.json, "w") as stream:
            json.dump({"schedules": done, "mostEvaluated": most, "failures": failures, "calls": world.calls,
                       "kills": len(kills), "seconds": round(time.monotonic() - started, 1)}, stream, indent=1)
            stream.write("\n")
    print("%d schedules, at most %d guesses evaluated, %d failed" % (done, most, len(failures)))
    return 1 if failures or not done else 0


def main():
    parser = argparse.ArgumentParser(description="Kills the check of passcodes on every schedule.")
    parser.add_argument("--coffer", required=True, metavar="PATH", help="the command to test")
    parser.add_argument("--schedules", type=int, default=10_500, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of 20 processes at once")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="schedules at the same time")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="begin no schedule after this time")
    parser.add_argument("--json", metavar="FILE", help="the figures and all failures")
    options = parser.parse_args()
    options.coffer = os.path.abspath(options.coffer)
    folder = "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None
    root = os.path.realpath(tempfile.mkdtemp(prefix="coffer-guess-", dir=folder))
    os.chmod(root, 0o711)
    try:
        return run_all(options, root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
