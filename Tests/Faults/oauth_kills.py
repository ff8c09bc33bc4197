#!/usr/bin/env python3
"""Kills `coffer oauth login`, `refresh`, `token` and `logout` at every system call, or at random times.

    oauth_kills.py --coffer PATH [--operations a,b,…] [--classes] [--sample N] [--every K]
                   [--points 30,100-120] [--budget SECONDS] [--random KILLS] [--seed S] [--jobs 2]
                   [--json FILE] [--keep]

PATH is the command, with coffer-oauth beside it. The server is oauth_authority.py, which knows what it issued
and which answers were read whole. Each operation is run once on a copy of a home to count its system calls
(killat.c), and then once for each of them, on a fresh copy, as the process is killed at that call. Afterwards

* the session must be paired, refreshing (the note that an answer may be lost), uncertain or lost; after a
  killed login also none, or the earlier one; after a killed logout also leaving, or none;
* the stored refresh token must be the server's newest, or the state must say that it was sent;
* one further refresh must work; only where an answer was lost and the server has no grace may it be `lost`,
  never `revoked`, and no other data is erased;
* after a further logout or login, the server must know that the killed session is over.

With 30 seconds of grace, no session may be lost. `unchanged` are the runs after which every file and the
server are as they were, so that nothing is left to find out. `--every K` takes each K-th point, `--budget` a
sample that prefers the calls by which something changes. `--random` lets one to four processes work on one
home and kills some of them, until so many were killed.

`--classes` covers every system call with few runs. Most calls change no file and exchange no byte with the
server: the loader's, reads, memory, threads, locks, clocks. A kill at one of them leaves the same world as a
kill at the next call that may change something: all kill points up to there are one class. killat.c marks
every call that it does not know to be harmless. The command is killed at its first, second, … marked call,
until it ends by itself three times. The run that counts the calls reads all files of the home at each call of
each thread, and fails if one has changed although no marked call ran. `--sample N` adds N points for each
operation, chosen at random among all of its calls.

The last line is a summary; the exit code is 1 for any violation. Needs cc, openssl and the right to trace.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

from oauth_authority import Authority, State

PROFILE, ACCOUNT = "work", "ada"
GRACE, TIME_OUT = 30.0, 90
OK, ABSENT, SIGN_IN_NEEDED, KILLED = 0, 3, 14, (-signal.SIGKILL, 128 + signal.SIGKILL)
STATES = ("unchanged", "none", "paired", "refreshing", "uncertain", "lost", "leaving", "other")


class Violation(Exception):
    pass


class Done:
    """How a command ended."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def document(self):
        try:
            return json.loads(self.out)
        except ValueError:
            return {}

    def __str__(self):
        lines = self.err.decode(errors="backslashreplace").strip().splitlines()
        return "exit %d%s" % (self.code, ": " + lines[-1] if lines else "")


class Call:
    """A system call: its number, and whether it may change what outlives the process."""

    def __init__(self, line):
        number, *star = line.split()
        self.number, self.may_change = int(number), star == ["*"]


class Home:
    """A vault's home with everything around it, in one folder that can be copied."""

    def __init__(self, coffer, root):
        self.coffer, self.root = coffer, root

    def make(self):
        for name in ("user", "run", "state", "tmp"):
            os.makedirs(os.path.join(self.root, name), mode=0o700)
        return self

    def copy(self, root):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.root, root, symlinks=True)
        return Home(self.coffer, root)

    def environment(self):
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        inside = {"HOME": "user", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "TMPDIR": "tmp",
                  "COFFER_HOME": "home"}
        return {**kept, **{name: os.path.join(self.root, folder) for name, folder in inside.items()},
                "LANG": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no"}

    def content(self):
        """Every file with its bytes."""
        found = {}
        for folder, _, files in os.walk(self.root):
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as stream:
                    found[os.path.relpath(path, self.root)] = stream.read()
        return found

    def start(self, *arguments, before=(), **more):
        return subprocess.Popen([*before, self.coffer, *arguments], env=self.environment(), cwd=self.root,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def __call__(self, *arguments, before=(), given=b""):
        process = self.start(*arguments, before=before)
        try:
            out, err = process.communicate(given, timeout=TIME_OUT)
        except subprocess.TimeoutExpired:
            process.kill()
            raise Violation("%s does not end" % " ".join(arguments))
        return Done(process.returncode, out, err)

    def succeed(self, *arguments, given=b""):
        done = self(*arguments, given=given)
        if done.code != OK:
            raise Violation("%s: %s" % (" ".join(arguments), done))
        return done

    # The commands

    def sign_in(self, authority, before=(), started=None):
        """Signs in; the user's browser is this program."""
        process = self.start(*LOGIN, before=before)
        if started:
            started(process)
        timer = threading.Timer(TIME_OUT, process.kill)
        timer.start()
        errors = []
        try:
            for line in process.stderr:
                errors.append(line)
                if line.startswith(b"https://"):
                    address = authority.sign_in(line.decode().strip())
                    try:
                        process.stdin.write(address.encode() + b"\n")
                        process.stdin.flush()
                    except BrokenPipeError:
                        pass
                    break
            try:
                out, err = process.communicate()
            except (BrokenPipeError, ValueError):
                out, err = b"", b""
                process.wait()
        finally:
            timer.cancel()
        return Done(process.returncode, out, b"".join(errors) + err)

    def state(self):
        """The state of the session; `none` without one."""
        for entry in self.succeed("oauth", "list", "--json").document()["sessions"]:
            if entry["profile"] == PROFILE and entry["account"] == ACCOUNT:
                return "none" if entry["state"] == "signInNeeded" else entry["state"]
        return "none"

    def token(self, kind):
        done = self("token", "get", "oauth:" + PROFILE, ACCOUNT, "--kind", kind, "--allow-expired")
        if done.code == ABSENT:
            return None
        if done.code != OK:
            raise Violation("the %s token cannot be read: %s" % (kind, done))
        return done.out.decode()

    def refresh(self):
        return self(*REFRESH)

    def waits_for_revocation(self):
        tokens = self.succeed("token", "list", "--json").document()["tokens"]
        return any(entry["service"].endswith("#revoke") for entry in tokens)


LOGIN = ("oauth", "login", PROFILE, "--account", ACCOUNT, "--no-browser")
REFRESH = ("oauth", "refresh", PROFILE, "--account", ACCOUNT)
TOKEN = ("oauth", "token", PROFILE, "--account", ACCOUNT)
LOGOUT = ("oauth", "logout", PROFILE, "--account", ACCOUNT)
LOGOUT_ALL = ("oauth", "logout", "--all")


class World:
    """A server, and homes that use it. Each worker has its own."""

    def __init__(self, options, root, number):
        self.options, self.root = options, os.path.join(root, "world-%d" % number)
        os.makedirs(os.path.join(self.root, "server"))
        self.authority = Authority(os.path.join(self.root, "server"))
        self.templates, self.killat = {}, os.path.join(root, "killat")
        self.calls = os.path.join(self.root, "calls")
        self.lost, self.kills = 0, 0

    def empty_home(self, name):
        """A home with the profile, and with a token that no end of a session may erase."""
        home = Home(self.options.coffer, os.path.join(self.root, name)).make()
        home.succeed("init", "--no-passcode", "--keyring", "file")
        home.succeed("token", "put", "kept.example", ACCOUNT, given=b"kept")
        home.succeed("oauth", "profile", "add", PROFILE, "--issuer", self.authority.issuer, "--client-id",
                     "desktop", "--scope", "api", "--host", "api.example.org", "--ca-file",
                     self.authority.authorities)
        return home

    def paired_home(self, name):
        home = self.empty_home(name)
        done = home.sign_in(self.authority)
        if done.code != OK:
            raise Violation("the first login: %s" % done)
        return home

    def template(self, operation):
        """The home and the server's state with which an operation begins."""
        key = (operation.is_paired, operation.life)
        if key not in self.templates:
            self.authority.put_back(State())
            self.authority.life = operation.life
            make = self.paired_home if operation.is_paired else self.empty_home
            home = make("template-%d" % len(self.templates))
            self.authority.settle()
            content = home.content()
            self.templates[key] = (home, content, self.authority.keep())
        return self.templates[key]

    # What must be true of a session

    def judge(self, home, families, may_be_over=False, needs_access=True):
        """Judges a session that must be there, and renews it; returns its state before that.

        `families` are the sign-ins that it may come from. With `may_be_over`, it may be lost already.
        Without `needs_access`, a paired session may have no access token of its own: a login stores it last.
        """
        authority, state, refresh = self.authority, home.state(), home.token("refresh")
        if state == "lost" and may_be_over:
            return self.judge_lost(home, state)
        if state not in ("paired", "refreshing", "uncertain"):
            raise Violation("the session is %s" % state)
        family, number = authority.family_of(refresh)
        if family is None or family not in families:
            raise Violation("the stored refresh token is of none of the sign-ins that it may be of")
        age = len(family.pairs) - 1 - number
        if age > 1 or age == 1 and state == "paired":
            raise Violation("the stored refresh token is %d older than the newest, and the session is %s" % (
                age, state))
        if state == "paired" and needs_access and home.token("access") != family.last().access:
            raise Violation("the session is paired with an older access token")
        if family.is_over() and not may_be_over:
            raise Violation("the server was told that the session is over")
        works = age == 0 and not family.is_over() or authority.grace > 0
        done = home.refresh()
        if works:
            if done.code != OK:
                raise Violation("the session is %s, and cannot be renewed: %s" % (state, done))
            return self.judge_renewed(home, family, state)
        if done.code != SIGN_IN_NEEDED:
            raise Violation("a token that was spent is not answered with 14: %s" % done)
        return self.judge_lost(home, state)

    def judge_renewed(self, home, family, state):
        if home.token("refresh") != family.last().refresh or home.token("access") != family.last().access:
            raise Violation("the renewed tokens are not the server's newest")
        if family.is_over():
            raise Violation("after the renewal, the server was told that the session is over")
        return state

    def judge_lost(self, home, state):
        self.lost += 1
        if self.authority.grace > 0:
            raise Violation("a session is lost, and the server has %g s of grace" % self.authority.grace)
        if home.state() != "lost":
            raise Violation("after a lost answer, the session is %s" % home.state())
        if home.succeed("token", "get", "kept.example", ACCOUNT).out != b"kept":
            raise Violation("a lost session cost other data")
        return state

    def log_out(self, home, command, state):
        """Finishes a logout. Of a session that is not there any more, it revokes the tokens, and says so."""
        done = home(*command)
        if done.code != (SIGN_IN_NEEDED if command == LOGOUT and state == "none" else OK):
            raise Violation("%s of a session that is %s: %s" % (" ".join(command), state, done))

    def judge_over(self, home, family):
        """Nothing is left of a session that was signed out, here or at the server."""
        if home.state() != "none" or home.token("refresh") or home.token("access"):
            raise Violation("the session is still there after the logout")
        self.judge_revoked(family)
        if home.waits_for_revocation():
            raise Violation("the server was reached, and tokens still wait for their revocation")

    def judge_revoked(self, family):
        if not family.is_over():
            raise Violation("the session is over, and its refresh token still works at the server")
        # Not always the newest: of an answer that was lost, nobody here knows.
        if not family.revoked_access:
            raise Violation("the session is over, and its access token was not revoked")


class Operation:
    """A command that is killed."""

    def __init__(self, name, arguments, grace=0.0, life=3600, is_paired=True):
        self.name, self.arguments, self.is_paired = name, arguments, is_paired
        self.grace, self.life = grace, life

    def fresh(self, world):
        template, content, state = world.template(self)
        world.authority.put_back(state)
        world.authority.grace, world.authority.life = self.grace, 3600
        return template.copy(os.path.join(world.root, "home")), content

    def perform(self, world, home, point, *options):
        before = (world.killat, *options, str(point), world.calls)
        if self.arguments == LOGIN:
            done = home.sign_in(world.authority, before=before)
        else:
            done = home(*self.arguments, before=before)
        world.authority.settle()
        with open(world.calls) as stream:
            return done, [Call(line) for line in stream]

    def learn(self, world, is_watched=False):
        home, _ = self.fresh(world)
        done, calls = self.perform(world, home, 0, *(("-w", home.root) if is_watched else ()))
        if done.code != OK:
            raise Violation("without a kill: %s" % done)
        return calls

    def run(self, world, point, *options):
        """Kills at this call; returns the state afterwards and whether the process was killed."""
        home, content = self.fresh(world)
        families = list(world.authority.state.families)
        done, calls = self.perform(world, home, point, *options)
        was_killed = done.code in KILLED
        if not was_killed and done.code != OK:
            raise Violation("neither killed nor done: %s" % done)
        world.kills += was_killed
        server = world.authority.state
        if was_killed and not (server.issued or server.replayed or server.reused or server.revocations):
            if home.content() == content:
                return "unchanged", was_killed
        return self.judge(world, home, families, was_killed, point), was_killed

    def judge(self, world, home, families, was_killed, point):
        state = world.judge(home, families)
        if not was_killed and state != "paired":
            raise Violation("the command was done, and the session is %s" % state)
        return state


class Login(Operation):
    """Signs in where no session is, or a second time."""

    def judge(self, world, home, families, was_killed, point):
        if not self.is_paired and home.token("refresh") is None:
            if not was_killed:
                raise Violation("the login was done, and there is no session")
            state = home.state()
            if state != "none":
                raise Violation("there is no refresh token, and the session is %s" % state)
            done = home.sign_in(world.authority)
            if done.code != OK:
                raise Violation("another login: %s" % done)
            world.judge(home, world.authority.state.families[-1:])
            return state
        state = world.judge(home, world.authority.state.families, needs_access=not was_killed)
        if state != "paired":
            raise Violation("a killed login leaves a session that is %s" % state)
        family, _ = world.authority.family_of(home.token("refresh"))
        if not was_killed and family in families:
            raise Violation("the login was done, and the earlier session is still there")
        if family not in families:
            for earlier in families:
                world.judge_revoked(earlier)
        return state


class Logout(Operation):
    def judge(self, world, home, families, was_killed, point):
        family = families[-1]
        state = home.state()
        if not was_killed:
            world.judge_over(home, family)
            return state
        if state == "paired":
            world.judge(home, families)
        elif state == "leaving":
            done = home.refresh()
            if done.code != SIGN_IN_NEEDED:
                raise Violation("a session that is being signed out was renewed: %s" % done)
        elif state != "none":
            raise Violation("the session is %s" % state)
        if point % 3 == 2:
            done = home.sign_in(world.authority)
            if done.code != OK:
                raise Violation("a login after the logout: %s" % done)
            world.judge_revoked(family)
            world.judge(home, world.authority.state.families[-1:])
        else:
            world.log_out(home, LOGOUT if point % 3 else LOGOUT_ALL, state)
            world.judge_over(home, family)
        return state


def all_operations():
    return [
        Login("login", LOGIN, is_paired=False),
        Login("login-again", LOGIN),
        Operation("refresh", REFRESH),
        Operation("refresh-grace", REFRESH, grace=GRACE),
        Operation("use", TOKEN, life=20),
        Operation("use-grace", TOKEN, life=20, grace=GRACE),
        Logout("logout", LOGOUT),
    ]


# ----------------------------------------------------------------------------------------------------
# Random times

class Round:
    """Some processes at once, some of which are killed."""

    def __init__(self, world, home, source):
        self.world, self.home, self.source = world, home, source
        self.kind = source.choices(["renewal", "login", "logout"], [80, 13, 7])[0]
        world.authority.grace, world.authority.life = source.choice([0.0, GRACE]), 20
        self.ends, self.failures = [], []

    def commands(self):
        if self.kind == "login":
            return [LOGIN] * self.source.choice([1, 1, 2])
        if self.kind == "logout":
            return [LOGOUT] + [REFRESH] * self.source.choice([0, 0, 1])
        count = self.source.choice([1, 1, 2, 3, 4])
        return [self.source.choice([REFRESH, REFRESH, TOKEN]) for _ in range(count)]

    def one(self, command, delay):
        """Runs a command and kills it after the delay; `None` lets it end."""
        killer = None

        def started(process):
            nonlocal killer
            if delay is not None:
                killer = threading.Timer(delay, process.kill)
                killer.start()

        try:
            if command == LOGIN:
                done = self.home.sign_in(self.world.authority, started=started)
            else:
                process = self.home.start(*command)
                started(process)
                out, err = process.communicate(timeout=TIME_OUT)
                done = Done(process.returncode, out, err)
            if killer:
                killer.cancel()
            self.ends.append((command, done))
        except Exception:  # to be told in the main thread of the worker
            self.failures.append(traceback.format_exc(limit=-3))

    def run(self, typical):
        """Returns the number of processes that were killed, and the state afterwards."""
        authority = self.world.authority
        families = list(authority.state.families)
        current, _ = authority.family_of(self.home.token("refresh"))
        authority.forget()
        commands = self.commands()
        victims = set(self.source.sample(range(len(commands)), self.source.randint(1, len(commands))))
        longest = 1.2 * typical * (1 + 0.5 * (len(commands) - 1)) * (2 if self.kind == "login" else 1)
        threads = [
            threading.Thread(target=self.one, args=(
                command, self.source.uniform(0.02, longest) if number in victims else None))
            for number, command in enumerate(commands)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        authority.settle()
        if self.failures:
            raise Violation(self.failures[0])
        killed = sum(done.code in KILLED for _, done in self.ends)
        self.world.kills += killed
        for command, done in self.ends:
            self.check(command, done)
        return killed, self.judge(families, current)

    def check(self, command, done):
        if done.code in KILLED or done.code == OK:
            return
        # An answer was lost with one of those that were killed, or the session is being signed out.
        authority = self.world.authority
        may_be_over = authority.grace == 0 and authority.state.reused or self.kind == "logout"
        if done.code != SIGN_IN_NEEDED or not may_be_over or command not in (REFRESH, TOKEN):
            raise Violation("%s beside killed ones: %s" % (" ".join(command), done))

    def judge(self, families, current):
        world, home, authority = self.world, self.home, self.world.authority
        state = home.state()
        if self.kind == "logout" and state in ("leaving", "none"):
            world.log_out(home, self.source.choice([LOGOUT, LOGOUT_ALL]), state)
            world.judge_over(home, current)
        elif self.kind == "logout" and (LOGOUT, OK) in [(command, done.code) for command, done in self.ends]:
            raise Violation("the logout was done, and the session is %s" % state)
        else:
            candidates = authority.state.families if self.kind == "login" else [current]
            state = world.judge(home, candidates, may_be_over=authority.state.reused > 0,
                                needs_access=self.kind != "login")
            now, _ = authority.family_of(home.token("refresh"))
            if now is not None and now is not current:
                world.judge_revoked(current)
        if home.state() != "paired":
            done = home.sign_in(authority)
            if done.code != OK:
                raise Violation("a login afterwards: %s" % done)
        return state


def run_random(options, root):
    source = random.Random(options.seed)
    seeds = [source.random() for _ in range(options.jobs)]
    row = new_row("random")
    row["points"] = options.random
    lock = threading.Lock()
    end = None if options.budget is None else time.monotonic() + options.budget

    def work(number):
        world, own = World(options, root, number), random.Random(seeds[number])
        home = world.paired_home("random")
        began = time.monotonic()
        home.refresh()
        typical = time.monotonic() - began
        while True:
            with lock:
                if row["kills"] >= options.random or end is not None and time.monotonic() > end:
                    break
            attempt = Round(world, home, own)
            failure, state, killed = None, "other", world.kills
            try:
                _, state = attempt.run(typical)
            except Violation as violation:
                failure = str(violation)
            with lock:
                row["runs"] += 1
                row["kills"] += world.kills - killed
                row["lost sessions"] += world.lost
                row["read whole"] += world.authority.state.read_whole
                world.lost = 0
                row[state if state in row else "other"] += 1
                if failure:
                    row["failures"].append("random %s, %g s of grace: %s" % (
                        attempt.kind, world.authority.grace, failure))
            if failure:
                # The same home could fail again for the same reason.
                if not options.keep:
                    shutil.rmtree(home.root)
                home = world.paired_home("random-%d" % row["runs"])

    run_workers(work, options.jobs)
    return row


# ----------------------------------------------------------------------------------------------------
# The matrix

def new_row(name):
    return {"operation": name, "points": 0, "classes": 0, "runs": 0, "kills": 0,
            **{state: 0 for state in STATES}, "lost sessions": 0, "read whole": 0, "failures": []}


def run_workers(work, count):
    """Runs `work` with each number in a thread of its own, and raises what one of them raises."""
    errors = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def chosen_points(calls, options):
    points = [point for point in range(1, len(calls) + 1) if point % options.every == options.every - 1
              or options.every == 1]
    if options.points:
        points = [point for point in points if point in options.points]
    if options.budget is not None:
        # Of everything a fair sample, and first of what may matter.
        random.Random(options.seed).shuffle(points)
        points.sort(key=lambda point: not calls[point - 1].may_change or point < len(calls) // 3)
    return points


class Points:
    """What is still to be tried of an operation; for the threads that do it."""

    # The calls of several threads come in another order in each run: one that ended proves little.
    ENDS = 3

    def __init__(self, calls, options):
        self.is_by_class, self.ended, self.next = options.classes, 0, 0
        if options.classes:
            source = random.Random(options.seed)
            points = source.sample(range(1, len(calls) + 1), min(options.sample, len(calls)))
        else:
            points = chosen_points(calls, options)
        self.rest = iter(points)

    def take(self):
        """The next point, with the options for killat; None if there is none left."""
        if self.is_by_class and self.ended < self.ENDS:
            self.next += 1
            return self.next, ("-c",)
        point = next(self.rest, None)
        return None if point is None else (point, ())

    def note(self, options, was_killed):
        if options:
            self.ended += not was_killed


def run_operation(operation, worlds, options, share):
    row, lock = new_row(operation.name), threading.Lock()
    began = time.monotonic()
    calls = operation.learn(worlds[0], is_watched=options.classes)
    points = Points(calls, options)
    row["points"], row["classes"] = len(calls), 1 + sum(call.may_change for call in calls)

    def work(number):
        world = worlds[number]
        while True:
            with lock:
                taken = points.take()
                # A few runs there are in any case: nothing passes without having been tried.
                is_late = share is not None and time.monotonic() - began > share
                if taken is None or is_late and row["runs"] > 4:
                    return
                row["runs"] += 1
            point, how = taken
            failure, state, was_killed, killed = None, "other", False, world.kills
            try:
                state, was_killed = operation.run(world, point, *how)
            except Violation as violation:
                failure = str(violation)
            except Exception:  # a fault of this program, or an answer that it does not know
                failure = traceback.format_exc(limit=-3)
            with lock:
                points.note(how, was_killed or world.kills > killed)
                row[state if state in row else "other"] += 1
                row["kills"] += world.kills - killed
                row["lost sessions"] += world.lost
                row["read whole"] += world.authority.state.read_whole
                world.lost = 0
                if failure:
                    row["failures"].append("%s, killed at %scall %d: %s" % (
                        operation.name, "marked " if how else "", point, failure))
                    if options.keep:
                        kept = os.path.join(world.root, "failed-%s-%d" % (operation.name, point))
                        shutil.copytree(os.path.join(world.root, "home"), kept, dirs_exist_ok=True)

    run_workers(work, len(worlds))
    row["seconds"] = round(time.monotonic() - began, 1)
    return row


COLUMNS = ("points", "classes", "runs", "kills", *STATES, "lost sessions")


def print_row(row):
    print(" ".join(["%-14s" % row["operation"]] + ["%*d" % (len(name), row[name]) for name in COLUMNS]
                   + ["%5d" % len(row["failures"])]), flush=True)


def run_matrix(options, root):
    worlds = [World(options, root, number) for number in range(options.jobs)]
    chosen = [operation for operation in all_operations() if operation.name in options.operations]
    end = None if options.budget is None else time.monotonic() + options.budget
    rows = []
    for index, operation in enumerate(chosen):
        # What one operation leaves of its share, the later ones divide among them.
        share = None if end is None else max(0.0, (end - time.monotonic()) / (len(chosen) - index))
        rows.append(run_operation(operation, worlds, options, share))
        print_row(rows[-1])
    return rows


def numbers(text):
    chosen = set()
    for word in text.split(","):
        first, _, last = word.partition("-")
        chosen |= set(range(int(first), int(last or first) + 1))
    return chosen


def parse_options():
    known = [operation.name for operation in all_operations()]
    parser = argparse.ArgumentParser(description="Kills coffer oauth at every system call.")
    parser.add_argument("--coffer", required=True, metavar="PATH",
                        help="the command, with coffer-oauth beside it")
    parser.add_argument("--operations", type=lambda text: text.split(","), default=known, metavar="a,b,…",
                        help=", ".join(known))
    parser.add_argument("--classes", action="store_true",
                        help="kill once between any two calls that may change something")
    parser.add_argument("--sample", type=int, default=0, metavar="N",
                        help="with --classes: at so many other calls, too")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="only each K-th point")
    parser.add_argument("--points", type=numbers, default=set(), metavar="3,7-9", help="only these points")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="end after this time with a sample")
    parser.add_argument("--random", type=int, metavar="KILLS", help="kill at random times instead, so often")
    parser.add_argument("--seed", default="1", help="of the sample and of the random times")
    parser.add_argument("--jobs", type=int, default=2, help="homes at the same time")
    parser.add_argument("--json", metavar="FILE", help="all figures and violations")
    parser.add_argument("--keep", action="store_true",
                        help="keep the homes of failed runs, and say where they are")
    options = parser.parse_args()
    options.coffer = os.path.abspath(options.coffer)
    for name in options.operations:
        if name not in known:
            parser.error("%s is none of %s" % (name, ", ".join(known)))
    for program in (options.coffer, os.path.join(os.path.dirname(options.coffer), "coffer-oauth")):
        if not os.access(program, os.X_OK):
            parser.error("%s cannot be run" % program)
    return options


def report(rows, options, root):
    failures = [failure for row in rows for failure in row["failures"]]
    for failure in failures[:10]:
        print("VIOLATION %s" % failure)
    if failures and options.keep:
        print("The homes are in %s" % root)
    if options.json:
        with open(options.json, "w") as stream:
            json.dump({"rows": rows, "seed": options.seed, "every": options.every}, stream, indent=1)
            stream.write("\n")
    total = {name: sum(row[name] for row in rows) for name in COLUMNS}
    with_grace = sum(row["lost sessions"] for row in rows if row["operation"].endswith("-grace"))
    print("%d points in %d classes, %d runs, %d kills: %s; %d sessions lost without grace, %d with grace; "
          "%d violations" % (
              total["points"], total["classes"], total["runs"], total["kills"],
              ", ".join("%d %s" % (total[state], state) for state in STATES if total[state]),
              total["lost sessions"] - with_grace, with_grace, len(failures)))
    return 1 if failures or not total["kills"] else 0


def check_watch(killat, root):
    """The watch must find a file that changes without a marked call: through memory mapped to it."""
    folder = os.path.join(root, "watched")
    os.makedirs(folder)
    place = os.path.join(folder, "file")
    with open(place, "wb") as stream:
        stream.write(b"a")
    code = ("import mmap; f = open(%r, 'r+b'); m = mmap.mmap(f.fileno(), 1); open('/dev/null').close(); "
            "m[0] = ord(%r); open('/dev/null').close()")
    for letter, expected in (("a", 0), ("b", 70)):
        done = subprocess.run([killat, "-w", folder, "0", "/dev/null", sys.executable, "-c", code % (
            place, letter)], stderr=subprocess.PIPE)
        if done.returncode != expected:
            raise RuntimeError("the watch is blind: %d %s" % (done.returncode, done.stderr.decode()))


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # and clean up on the way out
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    root = os.path.realpath(tempfile.mkdtemp(prefix="coffer-oauth-kills-", dir=memory))
    code = 0
    try:
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "killat.c")
        subprocess.run(["cc", "-O2", "-o", os.path.join(root, "killat"), source], check=True)
        if options.classes:
            check_watch(os.path.join(root, "killat"), root)
        print(" ".join(["%-14s" % "operation", *COLUMNS, "violations"]), flush=True)
        if options.random:
            rows = [run_random(options, root)]
            print_row(rows[0])
        else:
            rows = run_matrix(options, root)
        code = report(rows, options, root)
        return code
    finally:
        if not (options.keep and code):
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
