#!/usr/bin/env python3
"""Shows that no two ciphertexts come under one nonce when a program, a home or a machine is cloned.

    clone_matrix.py --coffer PATH --agent PATH [--rounds N] [--seed N] [--reduced]

PATH of the agent is DatabaseAgent of this package's tests. Each round clones in every way that there is:

    copied     a home is copied with cp -a, and both are worked on
    restored   a home is copied, worked on, put back as it was, and worked on again, as a machine from a snapshot
    running    the files are copied again and again while a program writes them, and each copy is worked on
    forked     the program forks in the middle of its work, with its memory and a copy of its files (cloneshim.c)

over a home with tokens, pending tokens, files and their index, exports, changed content and replaced keys, and over
databases of both formats in a rollback journal and a WAL. After every step nonces.py reads the nonces of all stores. The
same ciphertext under the same nonce is a copy; another one is a repeat.

First it must find repeats that are planted in every kind of store, or the run fails. The last line is
`N ciphertexts under nonces, M repeats`; the exit code is 1 for a repeat. Python 3.9 with pyca/cryptography and a C
compiler are needed.
"""

import argparse
import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import nonces

here = os.path.dirname(os.path.abspath(__file__))
KEY = bytes(range(32)).hex()
JOURNALS = ("delete", "persist", "truncate", "wal")
VAULT_KINDS = (
    "keybag", "record of file keys", "token file", "token key", "token metadata", "token value", "index of files",
    "pending token", "inner header of a file", "chunk, outer layer", "chunk, inner layer", "export",
)
DATABASE_KINDS = tuple(
    f"{kind}, {format}" for format in nonces.FORMATS for kind in ("database", "journal", "wal"))


class World:
    def __init__(self, options, root):
        self.coffer, self.agent, self.root = options.coffer, options.agent, root
        self.source = random.Random(options.seed)
        self.shim = os.path.join(root, "cloneshim.so")
        subprocess.run(
            ["cc", "-O2", "-fPIC", "-shared", "-o", self.shim, os.path.join(here, "cloneshim.c"), "-ldl"], check=True)
        for name in ("user", "run"):
            os.makedirs(os.path.join(root, name), mode=0o700)
        self.environment = {
            name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        self.environment.update(
            HOME=os.path.join(root, "user"), XDG_RUNTIME_DIR=os.path.join(root, "run"), LANG="C.UTF-8",
            SWIFT_BACKTRACE="enable=no", SHELL="/bin/sh")
        self.ledger, self.number, self.forks = nonces.Ledger(), 0, 0
        self.log = self.place("log")

    def place(self, name):
        self.number += 1
        return os.path.join(self.root, f"{name}-{self.number}")

    def copy(self, folder, name="copy"):
        place = self.place(name)
        # A file that goes away in the middle is the copy's fault, as in any copy of what is in use.
        subprocess.run(["cp", "-a", folder, place], stderr=subprocess.DEVNULL)
        return place

    def shimmed(self, folder, fork=None):
        """The environment under cloneshim, and where the clone will be."""
        environment = dict(self.environment, LD_PRELOAD=self.shim, CL_ROOT=folder, CL_LOG=self.log)
        clone = self.place("clone")
        if fork:
            environment.update(CL_FORK=fork, CL_CLONE=clone)
        return environment, clone


# The home


class Vault:
    """A home without a passcode, and what is done to it. Its stores are read after every step."""

    def __init__(self, world, home):
        self.world, self.home = world, home

    def run(self, arguments, content=b"", environment=None, secret=None, may_fail=False):
        descriptors, options = (), []
        if secret:
            reader, writer = os.pipe()
            os.write(writer, secret[1] + b"\n")
            os.close(writer)
            descriptors, options = (reader,), [secret[0], str(reader)]
        try:
            done = subprocess.run(
                [self.world.coffer] + self.with_options(arguments, options),
                input=content, env=dict(environment or self.world.environment, COFFER_HOME=self.home),
                pass_fds=descriptors, capture_output=True, timeout=60)
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        if done.returncode != 0 and not may_fail:
            sys.exit(f"{' '.join(arguments)}: {done.returncode}: {done.stderr.decode()}")
        return done.stdout.decode().strip()

    @staticmethod
    def with_options(arguments, options):
        """Options go before the command of a viewer."""
        at = arguments.index("--") if "--" in arguments else len(arguments)
        return arguments[:at] + options + arguments[at:]

    def look(self):
        nonces.Home(self.home, self.world.ledger).look()

    def make(self):
        self.run(["init", "--no-passcode", "--keyring", "file"])
        with open(self.home + ".film", "wb") as film:
            film.write(bytes(range(256)) * 1000)
        self.files = [self.run(["file", "add", self.home + ".film"]) for _ in range(2)]
        self.run(["token", "put", "service", "account", "--class", "whenUnlocked"], b"first")
        self.look()
        return self

    def clone(self, home):
        other = Vault(self.world, home)
        other.files = list(self.files)
        shutil.copy(self.home + ".film", home + ".film")
        return other

    def steps(self):
        """Every sort of sealing; a clone does the same with other content."""
        word = self.world.source.randbytes(12).hex().encode()
        with open(self.home + ".film", "r+b") as film:
            film.write(word)
        change = ["/bin/sh", "-c", f"printf {word.decode()} >> \"$0\"", "{}"]
        target = self.world.place("export")
        return [
            (["token", "put", "service", "account", "--class", "whenUnlocked"], word, None),
            (["token", "put", "service", word.decode()], word, None),
            (["file", "add", self.home + ".film"], b"", None),
            (["file", "view", self.files[0], "--writable", "--"] + change, b"", None),
            (["export", target], b"", ("--passphrase-fd", b"a passphrase of exports")),
            (["file", "rewrap", self.files[1]], b"", None),
            (["file", "rewrap"], b"", None),
            (["file", "rename", self.files[1], word.decode()], b"", None),
        ]

    def work(self, only=None):
        for arguments, content, secret in self.steps()[:only]:
            self.run(arguments, content, secret=secret)
            if arguments[0] == "export":
                nonces.export(arguments[1], self.world.ledger)
            self.look()

    def forked(self, step, fork):
        """One step, at whose opening or write of that number the program forks."""
        arguments, content, secret = self.steps()[step]
        environment, clone = self.world.shimmed(self.home, fork)
        # An export goes outside of the home: of the program and its clone, one has the name.
        exports = arguments[0] == "export"
        self.run(arguments, content, environment, secret, may_fail=exports)
        if exports and not os.path.exists(arguments[1]):
            sys.exit(f"{' '.join(arguments)}: neither the program nor its clone made it")
        self.look()
        if os.path.isdir(clone):
            self.world.forks += 1
            nonces.Home(clone, self.world.ledger).look()
            shutil.rmtree(clone)

    def wait(self):
        """Locked under a passcode, a token waits for the unlock."""
        self.run(["passcode", "set"], secret=("--new-passcode-fd", b"48392017"))
        self.look()
        self.run(["lock"], may_fail=True)
        for home in (self.home, self.world.copy(self.home)):
            other = self.clone(home) if home != self.home else self
            for number in range(2):
                other.run(["token", "put", "waiting", str(number)], self.world.source.randbytes(9))
            other.look()


def vault_round(world, reduced):
    vault = Vault(world, world.place("home")).make()
    # Copied
    other = vault.clone(world.copy(vault.home))
    for one in (vault, other):
        one.work(5 if reduced else None)
    # Restored
    snapshot = world.copy(vault.home, "snapshot")
    for _ in range(2):
        vault.work(4 if reduced else None)
        shutil.rmtree(vault.home)
        shutil.copytree(snapshot, vault.home, symlinks=True)
    # Running
    for _ in range(1 if reduced else 3):
        arguments, content, _ = vault.steps()[world.source.choice((0, 2, 6))]
        process = subprocess.Popen(
            [world.coffer] + arguments, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            env=dict(world.environment, COFFER_HOME=vault.home))
        process.stdin.write(content)
        process.stdin.close()
        copies = []
        while process.poll() is None and len(copies) < 4:
            copies.append(world.copy(vault.home))
            time.sleep(0.01)
        process.wait()
        vault.look()
        for copy in copies[-2:]:
            clone = vault.clone(copy)
            # Whatever was in the middle is finished or taken back first.
            clone.run(["status"], may_fail=True)
            clone.work(3)
    # Forked
    for step in range(2 if reduced else 6):
        for number in world.source.sample(range(1, 40), 2 if reduced else 5):
            vault.forked(step if not reduced else (0, 2)[step], f"open:{number}")
    vault.wait()


# Databases


def agent(world, mode, format, folder, journal, fork=None):
    environment, clone = world.shimmed(folder, fork)
    process = subprocess.Popen(
        [world.agent, mode, format, KEY, os.path.join(folder, "test.db"), journal], env=environment,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return process, clone


def work(world, format, folder, journal, mode="work", fork=None, may_fail=False):
    process, clone = agent(world, mode, format, folder, journal, fork)
    out, _ = process.communicate(timeout=60)
    if process.returncode != 0 and not may_fail:
        sys.exit(f"{mode} {format} {journal}: {process.returncode}: {out.decode()}")
    if fork and os.path.isdir(clone):
        world.forks += 1
        shutil.rmtree(clone)


def database_round(world, format, journal, reduced):
    folder = world.place("database")
    os.mkdir(folder)
    world.log = world.place("log")
    open(world.log, "wb").close()
    work(world, format, folder, journal, "make")
    # Copied and restored
    template = world.copy(folder, "template")
    for place in (folder, world.copy(template), world.copy(template)):
        work(world, format, place, journal)
    # Running
    place = world.copy(template)
    process, _ = agent(world, "write", format, place, journal)
    process.stdout.readline()
    copies = []
    for _ in range(1 if reduced else 4):
        time.sleep(world.source.uniform(0.02, 0.1))
        copies.append(world.copy(place))
    process.kill()
    process.communicate()
    nonces.cut(world.log)
    for copy in copies:
        # A copy of what is being written may be torn; what can be written in it is.
        work(world, format, copy, journal, may_fail=True)
    # Forked; a program with shared memory cannot be forked with a copy of it.
    if journal != "wal":
        for number in world.source.sample(range(2, 60), 2 if reduced else 6):
            work(world, format, world.copy(template), journal, fork=f"write:{number}")
    sealed = nonces.pages(world.log, format, world.ledger)
    if journal != "wal" and not sealed:
        sys.exit(f"No clone of a program sealed a page of {format}.")


# Control


def plant(world):
    """Repeats in copies of real stores, one for each kind: each must be found."""
    ledger = nonces.Ledger()
    planted = Planter(ledger)
    vault = Vault(world, world.place("control")).make()
    target = world.place("export")
    vault.run(["export", target], secret=("--passphrase-fd", b"a passphrase of exports"))
    before = world.ledger
    world.ledger = planted
    nonces.export(target, planted)
    vault.wait()
    for format in nonces.FORMATS:
        for journal in ("delete", "wal"):
            folder = world.place("database")
            os.mkdir(folder)
            world.log = world.place("log")
            work(world, format, folder, journal, "make")
            work(world, format, folder, journal)
            nonces.pages(world.log, format, planted)
    world.ledger = before
    plant_fork(world, target)
    found = {kind for kind, _ in ledger.repeats}
    missed = [kind for kind in VAULT_KINDS + DATABASE_KINDS if kind not in found]
    if missed:
        sys.exit(f"The search is blind: no planted repeat was found in {', '.join(missed)}.")
    print(f"planted repeats are found in all {len(VAULT_KINDS + DATABASE_KINDS)} kinds", flush=True)


def plant_fork(world, log):
    """A log of a fork after which both processes sealed the same bytes under one nonce."""
    def record(path, data):
        sizes = (len(value).to_bytes(4, sys.byteorder) for value in (path, data))
        return next(sizes) + path + next(sizes) + data

    sealed = [world.source.randbytes(nonces.PAGE) for _ in range(2)]
    with open(log, "wb") as file:
        file.write(record(b"/clone", b"/root"))
        for folder in (b"/root", b"/clone"):
            file.write(b"".join(record(folder + b"/test.db", page) for page in sealed))
    for format in nonces.FORMATS:
        ledger = nonces.Ledger()
        nonces.pages(log, format, ledger)
        # The first page is the one that was sealed before.
        if sum(ledger.repeats.values()) != 1:
            sys.exit(f"The search is blind: a repeat after a fork was not found in {format}.")


class Planter:
    """Gives each ciphertext to a ledger, and the first of each kind once more with one bit turned."""

    def __init__(self, ledger):
        self.ledger, self.seen = ledger, set()

    def add(self, kind, nonce, ciphertext, scope=b""):
        self.ledger.add(kind, nonce, ciphertext, scope)
        if kind not in self.seen:
            self.seen.add(kind)
            self.ledger.add(kind, nonce, ciphertext[:-1] + bytes([ciphertext[-1] ^ 1]), scope)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--coffer", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reduced", action="store_true")
    options = parser.parse_args()
    options.coffer, options.agent = (os.path.abspath(path) for path in (options.coffer, options.agent))
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="coffer-clones-", dir=memory) as root:
        world = World(options, root)
        plant(world)
        for number in range(1 if options.reduced else options.rounds):
            vault_round(world, options.reduced)
            for format in nonces.FORMATS:
                for journal in (("delete", "wal") if options.reduced else JOURNALS):
                    database_round(world, format, journal, options.reduced)
            print(f"round {number + 1}: {sum(world.ledger.counts.values())} ciphertexts, {world.forks} forks", flush=True)
        report(world)


def report(world):
    repeats = collections.Counter()
    for (kind, _), count in world.ledger.repeats.items():
        repeats[kind] += count
    for kind, count in sorted(world.ledger.counts.items()):
        print(f"{kind:24} {count:8} ciphertexts {repeats[kind]:6} repeats")
    missing = [kind for kind in VAULT_KINDS + DATABASE_KINDS if not world.ledger.counts[kind]]
    if missing or not world.forks:
        sys.exit(f"Nothing was seen of {', '.join(missing) or 'a fork'}.")
    print(f"{sum(world.ledger.counts.values())} ciphertexts under nonces, {sum(repeats.values())} repeats")
    sys.exit(1 if world.ledger.repeats else 0)


main()
