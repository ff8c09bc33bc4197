#!/usr/bin/env python3
"""Shows that no schedule of disturbances gives a guess at the passcode for nothing, or erases before the tenth.

    guess_schedules.py --coffer PATH [--schedules N] [--services N] [--seed N] [--jobs 2] [--budget SECONDS]
                       [--json FILE]

A schedule is a home with some failed attempts behind it, then attempts with passcodes that were never tried before or
with the right one, each disturbed as the schedule says, then attempts that nobody disturbs. faultshim.c kills at every
call by which the check of a passcode changes a file, before it or with half of it written, or lets it fail; guesscount.c
notes every comparison with the vault's passcode, without which nothing can be judged, and ends the program around it and
before, inside and after the derivation, by a kill or by Ctrl-C; limits of memory let the derivation fail. What counts is
the set of different passcodes that were compared and wrong since a right one was compared. Of every schedule must hold:

    evaluated  the set never has more than 10
    erased     the home is erased when it has 10, and never with fewer
    counted    an attempt that nobody disturbs says how many are left: 10 less the set

Then 20 processes guess at the same time, some of them killed; and counters that are cut short, emptied, deleted,
exchanged or cannot be written must have every attempt refused without a guess being evaluated. A counter put back from
an older copy must do what SECURITY.md says that it does. Where the programs for it are there, schedules with a Secret
Service that refuses, dies or is locked at any call follow, together with the kills above.

The last line is `N schedules, M erasures with fewer than 10, at most N guesses evaluated, N failed`; the exit code is 1
when anything failed. Python 3.9 and a C compiler are needed; for the services dbus-daemon, dbus-send and python3-dbus.
"""

import argparse
import concurrent.futures
import contextlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

OK, WRONG, WIPED, CORRUPT = 0, 5, 6, 7
LIMIT = 10
RIGHT = b"48392017"
INIT = ["init", "--kdf-memory", "8", "--kdf-passes", "2", "--attempt-delays", "off", "--keyring"]
ATTEMPT = ["token", "list"]
SENTENCE = ("an attacker who copies the vault directory beforehand, or restores an older counter, "
            "can guess without limit")
TIME_OUT = 120
MIB = 1 << 20
here = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    pass


class TooEarly(Failed):
    """An erasure with fewer than ten."""


def build(folder, name):
    result = os.path.join(folder, name + ".so")
    source = os.path.join(here, name + ".c")
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", result, source, "-ldl", "-pthread"], check=True)
    return result


class Home:
    """A home on the disk, and the wrong passcodes that were compared since a right one was."""

    def __init__(self, world, path, wrong=()):
        self.world, self.path, self.wrong, self.read, self.most = world, path, set(wrong), 0, 0
        self.environment = {}

    def events(self):
        """What guesscount has noted since the last look."""
        with contextlib.suppress(FileNotFoundError), open(self.path + ".guesses") as stream:
            stream.seek(self.read)
            lines = stream.read()
            self.read += len(lines)
            return lines.split()
        return []

    def attempt(self, passcode, fault=None):
        """One attempt; returns its exit code, once what must hold of it was checked."""
        code, errors = self.world.run(self, ATTEMPT, passcode, fault)
        events = self.events()
        for event in events:
            if event == "r":
                self.wrong.clear()
            elif event[0] == "w":
                self.wrong.add(event)
            elif event == "u" and passcode != RIGHT:
                raise Failed("a class key was opened, or tried, with a wrong passcode")
            self.most = max(self.most, len(self.wrong))
            if len(self.wrong) > LIMIT:
                raise Failed("%d guesses were evaluated" % len(self.wrong))
        if code == WIPED and len(self.wrong) < LIMIT:
            raise TooEarly("erased with %d that were evaluated: %s" % (len(self.wrong), errors))
        if fault is None:
            self.judge(passcode, code, events, errors)
        return code

    def judge(self, passcode, code, events, errors):
        """What must hold of an attempt that nobody disturbed."""
        if len(self.wrong) >= LIMIT:
            if code != WIPED:
                raise Failed("exit %d after %d guesses: %s" % (code, len(self.wrong), errors))
        elif passcode == RIGHT:
            if code != OK or "r" not in events:
                raise Failed("exit %d of the right passcode, %d evaluated: %s" % (code, len(self.wrong), errors))
        else:
            said = re.search(r"(\d+|One) attempts? (?:are|is) left", errors)
            left = said and (1 if said.group(1) == "One" else int(said.group(1)))
            if code != WRONG or left != LIMIT - len(self.wrong):
                raise Failed("exit %d of a wrong passcode, %d evaluated: %s" % (code, len(self.wrong), errors))

    def remove(self):
        shutil.rmtree(self.path, ignore_errors=True)
        for suffix in (".guesses", ".calls"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path + suffix)


class World:
    """A folder in memory with homes to copy, and how the command is run on them."""

    def __init__(self, coffer, root):
        self.coffer, self.root = coffer, root
        self.shims = " ".join([build(root, "faultshim"), build(root, "guesscount")])
        self.numbers = itertools.count(1)
        self.templates = []
        for name in ("user", "run"):
            os.makedirs(os.path.join(root, name), mode=0o700)
        self.environment = {
            name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        self.environment.update(HOME=os.path.join(root, "user"), XDG_RUNTIME_DIR=os.path.join(root, "run"),
                                LANG="C.UTF-8", SWIFT_BACKTRACE="enable=no")

    def new(self):
        return Home(self, os.path.join(self.root, "home-%d" % next(self.numbers)))

    def start(self, home, arguments, passcode, fault=None, before=()):
        reader, writer = os.pipe()
        os.write(writer, passcode + b"\n")
        os.close(writer)
        fault = dict(fault or {})
        if "limit" in fault:
            before = ["prlimit", "--%s=%d" % fault.pop("limit")]
        fault.pop("service", None)
        environment = dict(self.environment)
        environment.update(LD_PRELOAD=self.shims, GC_LOG=home.path + ".guesses", FI_PREFIX=home.path,
                           GC_KEYBAG=os.path.join(home.path, "vault", "keybag"))
        environment.update(home.environment)
        environment.update(fault)
        try:
            return subprocess.Popen(
                [*before, self.coffer, *arguments, "--home", home.path, "--passcode-fd", str(reader)],
                env=environment, pass_fds=[reader], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE)
        finally:
            os.close(reader)

    def run(self, home, arguments, passcode, fault=None, before=()):
        process = self.start(home, arguments, passcode, fault, before)
        try:
            _, errors = process.communicate(timeout=TIME_OUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failed("no end after %d s of %s" % (TIME_OUT, fault)) from None
        if process.returncode == 97:
            raise Failed("a shim failed: %s" % errors.decode())
        return process.returncode, errors.decode(errors="backslashreplace").strip()

    def learn(self):
        """The homes with 0 to 9 failures, and what an attempt can be disturbed by."""
        home = self.new()
        code, errors = self.run(home, INIT + ["file"], RIGHT)
        if code != OK:
            raise Failed("init failed: %s" % errors)
        home.attempt(RIGHT)
        self.templates.append(home)
        for failures in range(1, LIMIT):
            home = self.copy(failures - 1)
            home.attempt(b"template %d" % failures)
            if len(home.wrong) != failures:
                raise Failed("guesscount saw %d passcodes instead of %d" % (len(home.wrong), failures))
            self.templates.append(home)
        calls = self.calls(RIGHT)
        # The right one has no fewer, and whatever comes after the comparison differs in bytes alone.
        if self.calls(b"learning") != calls[:len(self.calls(b"learning"))]:
            raise Failed("a wrong passcode makes other calls than the right one")
        return calls, kills(calls), failures_of_disks(calls), self.limits()

    def calls(self, passcode):
        home = self.copy(3)
        log = home.path + ".calls"
        home.attempt(passcode, {"FI_ACT": "log", "FI_LOG": log})
        with open(log, errors="backslashreplace") as stream:
            calls = [line.split(" ")[1] for line in stream]
        home.remove()
        if not calls:
            raise Failed("the shim saw no call")
        return calls

    def limits(self):
        """Limits of memory about the least that the command needs, whose derivation alone takes 8 MiB; which of
        them it answers at once, and which not."""
        quick, slow = [], []
        home = self.copy(0)
        for name in ("data", "as"):
            enough = 2048 * MIB
            while enough > 16 * MIB and self.works(home, (name, enough * 7 // 8)):
                enough = enough * 7 // 8
            while self.works(home, (name, enough - 4 * MIB)):
                enough -= 4 * MIB
            for less in (0, 3, 6, 9):
                limit, started = (name, enough - less * MIB), time.monotonic()
                self.works(home, limit)
                (quick if time.monotonic() - started < 1 else slow).append({"limit": limit})
        home.remove()
        return quick, slow

    def works(self, home, limit):
        process = self.start(home, ATTEMPT, RIGHT, {"limit": limit})
        try:
            process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        return process.returncode == OK

    def copy(self, failures):
        template, home = self.templates[failures], self.new()
        copy_tree(template.path, home.path)
        home.wrong = set(template.wrong)
        return home


def kills(calls):
    found = []
    for number, call in enumerate(calls, 1):
        found.append({"FI_ACT": "kill", "FI_AT": str(number)})
        if "write" in call:
            found.append({"FI_ACT": "torn", "FI_AT": str(number)})
    found.append({"FI_ACT": "killafter", "FI_AT": str(len(calls))})
    places = ["before", "after", "settle-before", "settle-after", "derive-before", "derive-inside", "derive-after"]
    found += [{"GC_KILL": place} for place in places]
    found += [{"GC_KILL": place, "GC_SIGNAL": "2"} for place in ("derive-inside", "before", "after")]
    return found


def failures_of_disks(calls):
    found = []
    for number, call in enumerate(calls, 1):
        if "write" in call or "sync" in call:
            found.append({"FI_ACT": "EIO", "FI_AT": str(number)})
            found.append({"FI_ACT": "ENOSPC", "FI_AT": str(number), "FI_STICKY": "1"})
    found.append({"FI_ACT": "EROFS", "FI_AT": "1", "FI_STICKY": "1"})
    return found


def copy_tree(source, target):
    os.mkdir(target, 0o700)
    for entry in os.scandir(source):
        path = os.path.join(target, entry.name)
        if entry.is_dir(follow_symlinks=False):
            copy_tree(entry.path, path)
        else:
            shutil.copyfile(entry.path, path)
            os.chmod(path, 0o600)


def finish(home):
    """Attempts that nobody disturbs: few left, until the home is erased; else the right passcode opens it."""
    for number in range(4):
        if len(home.wrong) < LIMIT - 1:
            return home.attempt(RIGHT)
        # A right one that is still pending sets the count back.
        if home.attempt(b"last %d" % number) == WIPED:
            return WIPED
    raise Failed("not erased after %d guesses" % len(home.wrong))


def run_schedule(world, failures, steps):
    """One schedule; returns how many guesses were evaluated since the last right one, at most."""
    home = world.copy(failures)
    try:
        for number, (is_right, fault) in enumerate(steps):
            if home.attempt(RIGHT if is_right else b"guess %d" % number, fault) == WIPED:
                break
        # A process more for each schedule would add a third to the time of the short ones.
        if finish(home) == WIPED and len(steps) > 2:
            home.attempt(RIGHT)
        return home.most
    finally:
        home.remove()


def schedules(faults, slow, count, seed):
    """Pairs of failures so far and steps to come: first every single step, then drawn pairs, triples and others."""
    source = random.Random(seed)
    steps = [(is_right, fault) for fault in faults for is_right in (False, True)]
    singles = [(9, [step]) for step in steps + [(is_right, fault) for fault in slow for is_right in (False, True)]]
    if count < 2 * len(singles):
        singles = source.sample(singles, max(1, min(len(singles), count // 2)))
    yield from singles
    rest = max(0, count - len(singles))
    for number in range(rest):
        if number < rest * 6 // 10:
            yield 8, [source.choice(steps) for _ in range(2)]
        elif number < rest * 9 // 10:
            yield 7, [source.choice(steps) for _ in range(3)]
        else:
            failures = source.choice([0, 2, 4, 5, 6, 7, 8, 9])
            yield failures, [source.choice(steps) for _ in range(source.randint(1, LIMIT + 3 - failures))]


def guess_together(world, faults, source):
    """20 processes at once, every fourth of them disturbed; returns how many guesses were evaluated."""
    home = world.copy(0)
    try:
        processes = [
            world.start(home, ATTEMPT, b"together %d" % number, source.choice(faults) if number % 4 == 0 else None)
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
        events = home.events()
        evaluated = len({event for event in events if event[0] == "w"})
        if evaluated > LIMIT or "r" in events or "u" in events:
            raise Failed("20 at once evaluated %d guesses" % evaluated)
        if WIPED in codes and evaluated < LIMIT:
            raise TooEarly("20 at once erased with %d that were evaluated" % evaluated)
        if codes.count(WRONG) > LIMIT - 1 or OK in codes:
            raise Failed("exit codes of 20 at once: %s" % sorted(codes))
        return evaluated
    finally:
        home.remove()


def damaged_counters(world):
    """Each damage by its name: attempts with the right passcode are refused, and nothing is evaluated."""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []

    def damage(name, home):
        path = os.path.join(home.path, "vault", "attempts")
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
            world.run(other, INIT + ["file"], RIGHT)
            shutil.copyfile(os.path.join(other.path, "vault", "attempts"), path)
            other.remove()
        elif name == "a directory":
            os.unlink(path)
            os.mkdir(path)
        elif name == "read-only":
            for folder, folders, files in os.walk(home.path):
                for entry in [folder, *(os.path.join(folder, file) for file in files)]:
                    if nobody:
                        os.chown(entry, 65534, 65534)
            os.chmod(path, 0o400)

    results = {}
    for name in ("deleted", "emptied", "cut short", "zeros", "of another vault", "a directory", "read-only"):
        home = world.copy(4)
        damage(name, home)
        if name == "read-only" and nobody:
            open(home.path + ".guesses", "wb").close()
            os.chmod(home.path + ".guesses", 0o666)
        before = nobody if name == "read-only" else []
        code, _ = world.run(home, ATTEMPT, RIGHT, before=before)
        evaluated = [event for event in home.events() if event != "d"]
        home.remove()
        if code in (OK, WRONG) or code < 0 or evaluated:
            raise Failed("counter %s: exit %d, evaluated: %s" % (name, code, evaluated))
        results[name] = code
    return results


def put_back(world):
    """With files alone an older counter put back gives more guesses, as SECURITY.md says in these words."""
    with open(os.path.join(here, "..", "..", "SECURITY.md")) as stream:
        if SENTENCE not in " ".join(stream.read().split()):
            raise Failed("SECURITY.md does not say: %s" % SENTENCE)
    home = world.copy(0)
    counter = os.path.join(home.path, "vault", "attempts")
    with open(counter, "rb") as stream:
        old = stream.read()
    for number in range(2 * LIMIT):
        if world.run(home, ATTEMPT, b"put back %d" % number)[0] != WRONG:
            raise Failed("with the counter put back, attempt %d is not refused as wrong" % (number + 1))
        with open(counter, "r+b") as stream:
            stream.write(old)
    code, _ = world.run(home, ATTEMPT, RIGHT)
    home.remove()
    if code != OK:
        raise Failed("with the counter put back, the right passcode ends with %d" % code)


class Service:
    """A Secret Service on a bus of its own, which goes wrong where it is told to."""

    SCRIPT = os.path.join(here, "..", "..", "Sources", "CofferTesting", "Resources", "fake_secret_service.py")
    PYTHON = "/usr/bin/python3"
    NEVER = 1 << 40

    def __init__(self, world):
        self.folder = tempfile.mkdtemp(prefix="service-", dir=world.root)
        self.address = "unix:path=" + os.path.join(self.folder, "bus")
        self.parts = {"bus": self.start("bus")}
        self.restart()

    @classmethod
    def is_possible(cls):
        programs = all(shutil.which(name) for name in ("dbus-daemon", "dbus-send"))
        check = [cls.PYTHON, "-c", "import dbus, gi"]
        return programs and os.path.exists(cls.PYTHON) and subprocess.run(
            check, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def start(self, part):
        return subprocess.Popen(
            [self.PYTHON, self.SCRIPT, part, self.folder], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def restart(self):
        if "service" in self.parts:
            self.parts["service"].kill()
            self.parts["service"].wait()
        self.parts["service"] = self.start("service")
        deadline = time.monotonic() + TIME_OUT
        while not self.tell("count"):
            if time.monotonic() > deadline:
                raise Failed("the service for tests does not start")
            time.sleep(0.02)

    def tell(self, command):
        name = "org.coffer.FakeSecretService"
        run = subprocess.run(
            ["dbus-send", "--bus=" + self.address, "--print-reply", "--dest=" + name, "/", name + ".Tell",
             "string:" + command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return run.returncode == 0

    def mend(self):
        """All is well from here on."""
        # One that was told to die may be dying: it answers no more.
        if self.parts["service"].poll() is not None or not self.tell("unlock"):
            self.restart()
            self.tell("unlock")

    def upset(self, words):
        self.tell(words)

    def calm(self, words):
        """What did not happen is not to happen later."""
        if words.startswith("on "):
            self.tell("%s %d" % (" ".join(words.split(" ")[:4]), self.NEVER))

    def end(self):
        for part in self.parts.values():
            part.kill()
            part.wait()


def mishaps():
    found = ["lock"]
    for method, calls in (("SetSecret", 3), ("CreateItem", 1), ("GetSecret", 8), ("SearchItems", 8)):
        for number in range(calls):
            for moment in ("before", "after"):
                for what in ("die", "org.example.No"):
                    found.append("on %s %s %s %d" % (method, moment, what, number))
    return found


def run_with_service(world, service, faults, source):
    """One schedule with a vault whose device key and count are in the service."""
    home = world.new()
    home.environment = {"DBUS_SESSION_BUS_ADDRESS": service.address}
    try:
        code, errors = world.run(home, INIT + ["secret-service"], RIGHT)
        if code != OK:
            raise Failed("init with the Secret Service: %s" % errors)
        for number in range(source.choice([0, 0, 7, 8, 9])):
            home.attempt(b"before %d" % number)
        for number in range(source.randint(1, 4)):
            words = source.choice(mishaps()) if source.random() < 0.8 else ""
            service.upset(words or "count")
            fault = dict(source.choice(faults)) if not words or source.random() < 0.2 else {}
            fault["service"] = words
            code = home.attempt(RIGHT if source.random() < 0.6 else b"guess %d" % number, fault)
            service.mend()
            service.calm(words)
            if code == WIPED:
                break
        finish(home)
        return home.most
    finally:
        home.remove()


class Tally:
    """What was run, and what failed."""

    def __init__(self):
        self.most, self.done, self.early, self.failures, self.started = 0, 0, 0, [], time.monotonic()

    def take(self, results):
        for evaluated, problem, is_early in results:
            if problem:
                self.failures.append(problem)
                self.early += is_early
            elif evaluated is not None:
                self.most, self.done = max(self.most, evaluated), self.done + 1
                if self.done % 500 == 0:
                    print("%d schedules, at most %d guesses evaluated, %d s" % (
                        self.done, self.most, time.monotonic() - self.started), flush=True)

    def line(self):
        return "%d schedules, %d erasures with fewer than %d, at most %d guesses evaluated, %d failed" % (
            self.done, self.early, LIMIT, self.most, len(self.failures))


def attempting(end, body):
    """What runs one schedule of a pool, unless the time is over."""
    def attempt(schedule):
        if end is not None and time.monotonic() > end:
            return None, "", False
        try:
            return body(schedule), "", False
        except Failed as problem:
            return None, "%s: %s" % (schedule, problem), isinstance(problem, TooEarly)

    return attempt


def run_services(world, options, faults, end, tally):
    count = options.schedules // 50 if options.services is None else options.services
    if count == 0 or not Service.is_possible():
        return print("schedules with a Secret Service: %s" % ("none" if count == 0 else "its programs are missing"))
    idle = [Service(world) for _ in range(options.jobs)]
    before = tally.done

    def run(number):
        service = idle.pop()
        try:
            return run_with_service(world, service, faults, random.Random("%s-%d" % (options.seed, number)))
        finally:
            idle.append(service)

    try:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            tally.take(pool.map(attempting(end, run), range(count)))
    finally:
        for service in idle:
            service.end()
    return print("%d schedules with a Secret Service" % (tally.done - before))


def run_all(options, root):
    world = World(options.coffer, root)
    calls, deaths, disks, (limits, slow) = world.learn()
    faults = deaths + disks + limits
    print("%d calls in an attempt; %d kills, %d failures of the disk, %d limits of memory, %d more that take long" % (
        len(calls), len(deaths), len(disks), len(limits), len(slow)), flush=True)
    tally = Tally()
    end = None if options.budget is None else tally.started + options.budget
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tally.take(pool.map(
            attempting(end, lambda schedule: run_schedule(world, *schedule)),
            schedules(faults, slow, options.schedules, options.seed)))
    run_services(world, options, deaths + disks, end, tally)
    source = random.Random(options.seed)
    try:
        for _ in range(options.rounds):
            tally.most = max(tally.most, guess_together(world, faults, source))
        print("20 processes at once, %d rounds" % options.rounds)
        for name, code in damaged_counters(world).items():
            print("counter %s: refused with exit %d, nothing evaluated" % (name, code))
        put_back(world)
        print("an older counter put back gives more guesses, as SECURITY.md says")
    except Failed as problem:
        tally.failures.append(str(problem))
        tally.early += isinstance(problem, TooEarly)
    for failure in tally.failures[:10]:
        print("FAILED " + failure)
    if options.json:
        with open(options.json, "w") as stream:
            json.dump({"schedules": tally.done, "mostEvaluated": tally.most, "erasedEarly": tally.early,
                       "failures": tally.failures, "calls": calls, "disturbances": len(faults + slow),
                       "seconds": round(time.monotonic() - tally.started, 1)}, stream, indent=1)
            stream.write("\n")
    print(tally.line())
    return 1 if tally.failures or not tally.done else 0


def main():
    parser = argparse.ArgumentParser(description="Disturbs the check of passcodes on every schedule.")
    parser.add_argument("--coffer", required=True, metavar="PATH", help="the command to test")
    parser.add_argument("--schedules", type=int, default=10_500, metavar="N")
    parser.add_argument("--services", type=int, metavar="N", help="more of them with a Secret Service: one in 50")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="of 20 processes at once")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="schedules at the same time")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="begin no schedule after this time")
    parser.add_argument("--json", metavar="FILE", help="the figures and all failures")
    options = parser.parse_args()
    # A shell starts what it does not wait for with Ctrl-C ignored, and so would the schedules' commands.
    signal.signal(signal.SIGINT, signal.default_int_handler)
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
