#!/usr/bin/env python3
"""Kills `coffer` at every system call while it backs up, restores, recovers or replaces keys.

    backup_kills.py --coffer PATH [--operations a,b,…] [--every K] [--budget SECONDS] [--jobs 2]

Each operation runs once on a copy of a home to count the system calls that may change something (killat.c), and then
once for each of them, as the process is killed at that call. Two kills between which there is none leave the same
world, so these are all worlds that a kill can leave; with `--every K` the process is also killed at each K-th of all calls.
Afterwards, by what is there and by running the operation again:

    create    the backup is not there, or complete; nothing unfinished stays beside it when one was made
    keep      the same, and no earlier backup that is to be kept is gone or there twice
    restore   what the vault had is there, and a second run completes it
    rotate    the keys of before or the new ones open everything; --resume completes it, and the keybag of before opens
              nothing that is stored afterwards
    rotate-all  the same, and the database's rows are there under the old or its new key; --databases completes it
    recover   the old passcode or the new one opens, and one of the two sheets
    anchor    the vault opens, and the anchor it names can be read
    upgrade   a home of the first release is as it was or wholly upgraded, and a second run completes it

No file of the home or beside it holds a token's value. One line for each operation, `operation points runs failed`;
the exit code is 1 when anything failed. Needs cc and the right to trace.
"""

import argparse
import base64
import concurrent.futures
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from crash_matrix import BACKUP_IDENTITY, BACKUP_RECIPIENT, INIT, fast_folder

OLD, NEW = "correct horse", "battery staple"
VALUE = "the value of a token in these tests"
WRONG_PASSCODE, KILLED = 5, (-signal.SIGKILL, 128 + signal.SIGKILL)
TIME_OUT = 60


class Violation(Exception):
    pass


class Place:
    """A home with what is around it, in one folder that is copied for each run."""

    def __init__(self, coffer, root):
        self.coffer, self.root = coffer, root
        self.home, self.backup = os.path.join(root, "home"), os.path.join(root, "backups", "vault.age")
        self.identity, self.sheet = os.path.join(root, "identity"), os.path.join(root, "sheet")

    def make(self):
        for name in ("user", "run", "tmp", "backups", "elsewhere"):
            os.makedirs(os.path.join(self.root, name), mode=0o700)
        with open(self.identity, "wb") as stream:
            stream.write(BACKUP_IDENTITY)
        return self

    def run(self, arguments, passcode=OLD, new=None, recovery=None, given="", before=()):
        line, readers = [*before, self.coffer, *arguments, "--json", "--home", self.home], []
        for option, secret in (("--passcode-fd", passcode), ("--new-passcode-fd", new), ("--recovery-fd", recovery)):
            if secret is not None:
                reader, writer = os.pipe()
                os.write(writer, secret.encode() + b"\n")
                os.close(writer)
                readers.append(reader)
                line += [option, str(reader)]
        inside = {"HOME": "user", "XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp"}
        environment = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        environment.update({name: os.path.join(self.root, folder) for name, folder in inside.items()})
        environment.update({"SWIFT_BACKTRACE": "enable=no", "SWIFT_DETERMINISTIC_HASHING": "1"})
        try:
            return subprocess.run(line, env=environment, input=given.encode(), capture_output=True, timeout=TIME_OUT,
                                  pass_fds=readers)
        except subprocess.TimeoutExpired:
            raise Violation("%s does not end" % " ".join(arguments[:2]))
        finally:
            for reader in readers:
                os.close(reader)

    def succeed(self, arguments, **options):
        done = self.run(arguments, **options)
        if done.returncode:
            raise Violation("%s: exit %d: %s" % (
                " ".join(arguments[:2]), done.returncode, done.stderr.decode(errors="replace").strip()))
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def copy_to(self, root):
        subprocess.run(["cp", "-a", self.root, root], check=True)
        return type(self)(self.coffer, root)

    def content(self, name):
        """A file outside the home that can be added."""
        path = os.path.join(self.root, "user", name)
        with open(path, "wb") as stream:
            stream.write(os.urandom(100_000))
        return path

    # What is asked of every home ---------------------------------------------------------------------------------

    def passcode(self):
        """The one that opens the vault."""
        done = self.run(["token", "list"])
        if done.returncode == 0:
            return OLD
        if done.returncode == WRONG_PASSCODE:
            self.succeed(["token", "list"], passcode=NEW)
            return NEW
        raise Violation("the vault does not open: %s" % done.stderr.decode(errors="replace").strip())

    def items(self, passcode):
        """The names of all tokens and files, each of which can be read."""
        tokens = self.succeed(["token", "list"], passcode=passcode)["tokens"]
        files = self.succeed(["file", "list"], passcode=passcode)["files"]
        self.succeed(["file", "verify", "--all"], passcode=passcode)
        for token in tokens:
            if token["service"] == "s":
                self.succeed(["token", "get", "s", token["account"]], passcode=passcode)
        return {(token["service"], token["account"]) for token in tokens} | {item["name"] for item in files}

    def require_sealed(self):
        for folder, _, names in os.walk(self.root):
            for name in names:
                with open(os.path.join(folder, name), "rb") as stream:
                    if VALUE.encode() in stream.read():
                        raise Violation("%s holds a token" % os.path.join(folder, name))

    def verified(self, name="vault.age"):
        """The moment of a backup that is complete; `None` if there is none."""
        path = os.path.join(os.path.dirname(self.backup), name)
        if not os.path.exists(path):
            return None
        return self.succeed(["backup", "verify", path, "--identity", self.identity], passcode=None)["created"]

    def backups(self):
        return sorted(os.listdir(os.path.dirname(self.backup)))


# ---------------------------------------------------------------------------------------------------------------------

class Operation:
    passcode, new, recovery = OLD, None, None

    def make(self, place):
        """Makes the home."""
        place.succeed([*INIT, "--movable"])
        for account in range(12):
            place.succeed(["token", "put", "s", str(account)], given=VALUE)
        place.succeed(["token", "put", "s", "stays", "--class", "whenUnlockedThisDeviceOnly"], given=VALUE)
        for name in ("one", "two"):
            place.succeed(["file", "add", place.content(name)])
        place.succeed(["database", "query", "--vault", "notes", "--create", "CREATE TABLE note (text)"])

    def prepare(self, place):
        pass

    def run(self, place, before=()):
        return place.run(self.arguments(place), passcode=self.passcode, new=self.new,
                         recovery=self.key(place) if self.recovery else None, before=before)

    def judge(self, place, done):
        pass


class Create(Operation):
    def arguments(self, place):
        return ["backup", "create", place.backup, "--to", BACKUP_RECIPIENT]

    def judge(self, place, done):
        if place.verified() is None:
            if done.returncode == 0:
                raise Violation("reported done, and there is no backup")
            place.succeed(self.arguments(place))
        if place.verified() is None or place.backups() != ["vault.age"]:
            raise Violation("beside the backup: %s" % place.backups())


class Keep(Operation):
    def arguments(self, place):
        return ["backup", "create", place.backup, "--to", BACKUP_RECIPIENT, "--keep", "3"]

    def prepare(self, place):
        for number in range(3):
            place.succeed(["token", "put", "s", "later-%d" % number], given=VALUE)
            place.succeed(self.arguments(place))
        self.earlier = self.digests(place)

    def digests(self, place):
        found = []
        for name in ("vault.age", "vault.age.1", "vault.age.2"):
            with open(os.path.join(os.path.dirname(place.backup), name), "rb") as stream:
                found.append(stream.read())
        return found

    def judge(self, place, done):
        for name in place.backups():
            if not name.startswith(".tmp-"):
                place.verified(name)
        place.succeed(self.arguments(place))
        if place.backups() != ["vault.age", "vault.age.1", "vault.age.2"]:
            raise Violation("beside the backup: %s" % place.backups())
        now = self.digests(place)
        if len(set(now)) != 3 or self.earlier[0] not in now:
            raise Violation("an earlier backup is gone or there twice: %s" % [
                self.earlier.index(one) if one in self.earlier else "new" for one in now])


class Restore(Operation):
    def arguments(self, place):
        return ["backup", "restore", place.backup, "--identity", place.identity]

    def prepare(self, place):
        place.succeed(["backup", "create", place.backup, "--to", BACKUP_RECIPIENT])
        self.all = place.items(OLD)
        for account in ("0", "5"):
            place.succeed(["token", "remove", "s", account])
        place.succeed(["file", "remove", "one"])
        self.before = place.items(OLD)

    def judge(self, place, done):
        items = place.items(OLD)
        if not self.before <= items <= self.all:
            raise Violation("more or less than before: %s" % sorted(map(str, items)))
        if done.returncode == 0 and items != self.all:
            raise Violation("reported done, and %s are missing" % sorted(map(str, self.all - items)))
        place.succeed(self.arguments(place))
        again = place.succeed(self.arguments(place))
        if place.items(OLD) != self.all or again["equal"] != len(self.all):
            raise Violation("a second run does not complete it: %s" % again)


class Rotate(Operation):
    def arguments(self, place):
        return ["rotate"]

    def prepare(self, place):
        self.all = place.items(OLD)
        with open(os.path.join(place.home, "vault", "keybag"), "rb") as stream:
            self.keybag = stream.read()

    def judge(self, place, done):
        if place.items(OLD) != self.all:
            raise Violation("not the items of before")
        place.succeed(["rotate", "--resume"])
        place.succeed(["token", "put", "s", "later"], given=VALUE)
        if place.items(OLD) != self.all | {("s", "later")}:
            raise Violation("not the items of before, and the new one")
        with open(os.path.join(place.home, "vault", "keybag"), "rb") as stream:
            now = stream.read()
        if now == self.keybag:
            return
        with open(os.path.join(place.home, "vault", "keybag"), "r+b") as stream:
            stream.write(self.keybag)
        status = place.succeed(["status"], passcode=None)
        if status["state"] != "wiped" and place.run(["token", "get", "s", "later"]).returncode == 0 \
                and self.is_rotated(now):
            raise Violation("the old keybag opens what was stored later")

    def is_rotated(self, keybag):
        """Whether the keys are others: a record of the same generation may only be written anew."""
        return keybag[:64] != self.keybag[:64] or keybag[len(keybag) // 2:][:64] != self.keybag[len(keybag) // 2:][:64]


class RotateAll(Rotate):
    """The database's own key, too. Its file changes with its key, or both stay."""

    def arguments(self, place):
        return ["rotate", "--all"]

    def query(self, place, statement):
        return place.succeed(["database", "query", "--vault", "notes", statement])

    def prepare(self, place):
        self.query(place, "INSERT INTO note VALUES ('first'), ('second')")
        super().prepare(place)
        vault = os.path.join(place.home, "vault")
        self.old = {}
        for name in os.listdir(vault):
            if os.path.isfile(os.path.join(vault, name)):
                with open(os.path.join(vault, name), "rb") as stream:
                    self.old[name] = stream.read()

    def rows(self, place):
        return [row["text"] for row in self.query(place, "SELECT text FROM note ORDER BY rowid")]

    def judge(self, place, done):
        if self.rows(place) != ["first", "second"]:
            raise Violation("not the rows of before")
        place.succeed(["rotate", "--databases"])
        self.query(place, "INSERT INTO note VALUES ('third')")
        if self.rows(place) != ["first", "second", "third"]:
            raise Violation("not the rows of before, and the new one")
        left = [name for name in os.listdir(os.path.join(place.home, "vault", "soups")) if name.startswith(".")]
        if left:
            raise Violation("beside the databases: %s" % left)
        super().judge(place, done)
        if done.returncode:
            return
        for name, content in self.old.items():
            with open(os.path.join(place.home, "vault", name), "wb") as stream:
                stream.write(content)
        if place.run(["database", "query", "--vault", "notes", "SELECT text FROM note"]).returncode == 0:
            raise Violation("the old keys open the database")


class Recover(Operation):
    passcode, new, recovery = None, NEW, True

    def arguments(self, place):
        return ["recovery", "use", "--unchecked", "--sheet", place.sheet]

    def key(self, place):
        return self.text

    def prepare(self, place):
        self.text = place.succeed(["recovery", "create", "--unchecked"])["recoveryKey"]
        self.all = place.items(OLD)

    def judge(self, place, done):
        passcode = place.passcode()
        if place.items(passcode) != self.all:
            raise Violation("not the items of before")
        opened = place.run(["recovery", "check"], passcode=None, recovery=self.text).returncode == 0
        if os.path.exists(place.sheet):
            with open(place.sheet) as stream:
                lines = [line.split()[-1] for line in stream if line.lstrip().startswith(("1-4:", "5-8:"))]
            opened += place.run(["recovery", "check"], passcode=None, recovery="-".join(lines)).returncode == 0
        if opened != 1:
            raise Violation("%d sheets open the vault" % opened)
        if done.returncode == 0 and passcode != NEW:
            raise Violation("reported done, and the old passcode opens")


class Anchor(Operation):
    def arguments(self, place):
        return ["anchor", "set", os.path.join(place.root, "elsewhere", "anchor")]

    def judge(self, place, done):
        place.succeed(["token", "list"])
        anchors = place.succeed(["anchor", "list"], passcode=None)["anchors"]
        if any(anchor.get("problem") for anchor in anchors) or done.returncode == 0 and not anchors:
            raise Violation("the anchors: %s" % anchors)
        place.succeed(self.arguments(place))


class Upgrade(Operation):
    PARTS = ["keybag", "fileIndex"]

    def make(self, place):
        archive = os.path.join(HERE, "..", "Golden", "v0", "passcode.tar.gz")
        subprocess.run(["tar", "-xzpf", archive, "--no-same-owner", "-C", place.root], check=True)

    def arguments(self, place):
        return ["upgrade", "--no-backup"]

    def prepare(self, place):
        self.before = self.formats(place)

    def formats(self, place):
        found = {}
        for folder, _, names in os.walk(place.home):
            for name in names:
                if name not in ("attempts", "lock"):
                    with open(os.path.join(folder, name), "rb") as stream:
                        found[os.path.relpath(os.path.join(folder, name), place.home)] = stream.read()
        return found

    def judge(self, place, done):
        left = place.succeed(["upgrade", "--dry-run"], passcode=None)["available"]
        place.succeed(["token", "list"])
        if left == self.PARTS:
            if done.returncode == 0 or self.formats(place) != self.before:
                raise Violation("neither as before nor upgraded: %s" % sorted(self.formats(place)))
        elif left:
            raise Violation("half upgraded: %s is left" % left)
        place.succeed(self.arguments(place))
        if place.succeed(["upgrade", "--dry-run"], passcode=None)["available"]:
            raise Violation("a second run does not complete it")
        if not {"keybag", "fileindex", "filekeys"} <= set(os.listdir(os.path.join(place.home, "vault"))):
            raise Violation("a file is missing")
        for name in os.listdir(place.home):
            if name in ("vault.next", "vault.discarded") or name.startswith(".tmp-"):
                raise Violation("%s is left beside the vault" % name)
        for account, value in (("ada", "kept from before"), ("after", "outlasts")):
            got = place.succeed(["token", "get", "api.example.org", account])
            if base64.b64decode(got["valueBase64"]).decode() != value:
                raise Violation("the token of %s is another one" % account)
        place.succeed(["token", "put", "s", "movable", "--class", "whenUnlocked"], given=VALUE)
        place.succeed(["file", "add", place.content("later")])


OPERATIONS = {"create": Create, "keep": Keep, "restore": Restore, "rotate": Rotate, "rotate-all": RotateAll,
              "recover": Recover, "anchor": Anchor, "upgrade": Upgrade}


class Kills:
    def __init__(self, options, root):
        self.options, self.root = options, root
        self.killat = os.path.join(root, "killat")
        subprocess.run(["cc", "-O2", "-o", self.killat, os.path.join(HERE, "killat.c")], check=True)
        self.numbers, self.lock = iter(range(1 << 30)), threading.Lock()

    def template(self, operation):
        place = Place(self.options.coffer, os.path.join(self.root, "template")).make()
        operation.make(place)
        operation.prepare(place)
        return place

    def one(self, operation, template, killing):
        """One run on a copy, at the template's own path: the record of anchors names one. Returns whether it was killed."""
        with self.lock:
            number = next(self.numbers)
        place = template.copy_to(os.path.join(self.root, "run-%d" % number))
        try:
            log = place.root + ".log"
            done = operation.run(place, before=[self.killat, *killing, log])
            place.require_sealed()
            operation.judge(place, done)
            place.require_sealed()
            return done.returncode in KILLED
        finally:
            shutil.rmtree(place.root, ignore_errors=True)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place.root + ".log")

    def count(self, operation, template):
        """The numbers of all calls of an undisturbed run, and of those that may change something."""
        place = template.copy_to(os.path.join(self.root, "counted"))
        log = place.root + ".log"
        done = operation.run(place, before=[self.killat, "0", log])
        with open(log) as stream:
            calls = stream.read().split("\n")[:-1]
        shutil.rmtree(place.root)
        os.unlink(log)
        if done.returncode:
            raise Violation("undisturbed: %s" % done.stderr.decode(errors="replace"))
        return len(calls), sum(call.endswith("*") for call in calls)

    def all(self):
        is_failed = False
        for name in self.options.operations:
            operation = OPERATIONS[name]()
            template = self.template(operation)
            calls, changing = self.count(operation, template)
            # Some more, because runs differ a little.
            points = [["-c", str(number)] for number in range(1, changing + 4)]
            if self.options.every:
                points += [[str(number)] for number in range(1, calls + 4, self.options.every)]
            end = time.monotonic() + self.options.budget if self.options.budget else None
            failures, runs, killed = [], 0, 0

            def attempt(point):
                if end and time.monotonic() > end:
                    return None
                try:
                    return self.one(operation, template, point)
                except Violation as problem:
                    return "killed at %s: %s" % (" ".join(point), problem)

            with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
                for result in pool.map(attempt, points):
                    runs += result is not None
                    killed += result is True
                    if isinstance(result, str):
                        failures.append(result)
            if not killed:
                failures.append("nothing was killed")
            print("%-10s %4d points %4d runs %4d killed %d failed" % (name, len(points), runs, killed, len(failures)),
                  flush=True)
            for text in failures[:10]:
                print("FAILED %s: %s" % (name, text))
            is_failed |= bool(failures)
            shutil.rmtree(template.root)
        return 1 if is_failed else 0


def names(text):
    chosen = text.split(",")
    if set(chosen) - set(OPERATIONS):
        raise argparse.ArgumentTypeError("there are: " + ", ".join(OPERATIONS))
    return chosen


def main():
    parser = argparse.ArgumentParser(description="Kills coffer around backups and changes of keys.")
    parser.add_argument("--coffer", required=True, metavar="PATH")
    parser.add_argument("--operations", type=names, default=list(OPERATIONS), metavar="a,b,…")
    parser.add_argument("--every", type=int, metavar="K", help="also at each K-th of all system calls")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="for each operation")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.coffer = os.path.abspath(options.coffer)
    root = os.path.realpath(tempfile.mkdtemp(prefix="coffer-backup-kills-", dir=fast_folder()))
    try:
        return Kills(options, root).all()
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
