#!/usr/bin/env python3
"""Drives the `coffer` command through every crash point of every operation that changes something.

    crash_matrix.py --coffer PATH [--operations a,b,…] [--actions kill,torn,…] [--budget SECONDS] [--json FILE]
                    [--seed N] [--points 3,7-9] [--jobs 2] [--strict-sync] [--keep] [--shim faultshim.so]

A template home is made once. Each operation is run once on a copy to count the calls by which it changes files, its
crash points; then once for every point and every action, on a fresh copy, with the fault shim (faultshim.c) hitting
that call. Afterwards the home is opened again without the shim, and must be exactly as before or exactly as after:
every token with its version, every file, and which passcode opens it. What was reported done must be there, opening
must need no repair, and the next operation on the same store must leave no file behind that a run without faults
would not have left.

One line for each operation, `operation points actions runs mixed lost residue other skipped`:
    mixed    neither before nor after, or the home does not open
    lost     the command said it was done, and it is not
    residue  something was left behind, or the blocks of a container that is gone still hold its wrapped keys
    other    a wrong exit code, a crash, a time-out
    skipped  runs the budget left no time for

The last line is `N passed, N failed`; the exit code is 1 when anything failed. Python 3.9 and a C compiler are needed.
"""

import argparse
import base64
import collections
import concurrent.futures
import contextlib
import dataclasses
import hashlib
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
import traceback
import uuid

# ---------------------------------------------------------------------------------------------------------------
# What is assumed of the command: its contract. Names of options, fields and exit codes stand here and nowhere else.

OK, ABSENT, LOCKED, WRONG_PASSCODE, WIPED, REPLAYED, USAGE = 0, 3, 4, 5, 6, 10, 64
UNINITIALISED = 12
ATTEMPTS = 10

# A cheap key derivation, and no delays between attempts: there are thousands of runs.
INIT = ["init", "--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2", "--policy", "none",
        "--attempt-delays", "off"]
NO_PASSCODE = ["--no-passcode"]
STATUS = ["status"]
TOKEN_LIST = ["token", "list"]
FILE_LIST = ["file", "list"]
KEY_LIST = ["key", "list"]
PASSCODE_CHANGE, PASSCODE_SET, PASSCODE_REMOVE = (["passcode", verb] for verb in ("change", "set", "remove"))
RECOVERY_CREATE = ["recovery", "create", "--unchecked"]
RECOVERY_CHECK, RECOVERY_USE, RECOVERY_REMOVE = (
    ["recovery", "check"], ["recovery", "use", "--unchecked"], ["recovery", "remove"])
WIPE = ["wipe", "--yes"]
WIPE_TOKENS = ["wipe", "--yes", "--tokens"]


def order_keygen(path):
    return ["remote-wipe", "keygen", path]


def order_pin(key):
    return ["remote-wipe", "trust-key", key]


def order_create(path, vault):
    return ["remote-wipe", "create", "--key-file", path, "--vault", vault]


def wipe_by_order(path):
    return ["wipe", "--order", path]


def token_put(service, account, kind=None):
    return ["token", "put", service, account] + (["--kind", kind] if kind else [])


def token_get(service, account, kind):
    return ["token", "get", service, account, "--kind", kind]


def token_remove(service, account):
    return ["token", "remove", service, account]


def key_generate(alias):
    return ["key", "generate", alias, "--class", "whenUnlocked"]


def key_rename(alias, new):
    return ["key", "rename", alias, new]


def key_remove(alias):
    return ["key", "remove", alias]


def key_csr(alias):
    return ["key", "csr", alias]


def key_self_signed(alias):
    return ["key", "self-signed", alias]


def key_install(alias, path):
    return ["key", "install", alias, path]


def key_import(alias, path):
    return ["key", "import", alias, path]


def key_rotate(alias, *options):
    return ["key", "rotate", alias, *options]


def key_sign(alias):
    return ["key", "sign", alias]


def key_verify(alias, signature):
    return ["key", "verify", alias, "--signature", signature]


def file_add(path):
    return ["file", "add", path]


def file_cat(identifier):
    return ["file", "cat", identifier]


def file_remove(identifier):
    return ["file", "remove", identifier]


def file_rewrap(*identifier):
    return ["file", "rewrap", *identifier]


RECLASS = ["reclass", "--all", "--class", "whenUnlocked"]
ROTATE = ["rotate"]
ROTATE_RESUME = ["rotate", "--resume"]
PASSCODE_ROTATE = ["passcode", "change", "--rotate"]


# An identity for backups of these homes alone, and its recipient.
BACKUP_IDENTITY = b"AGE-SECRET-KEY-1NDUC83A653VL928P98F25CSSM0U9P63JXPYTP0Y60S4TJLYSRPRSF2SWA2\n"
BACKUP_RECIPIENT = "age1x3pc4wukzx9xl3dumlgajml8sd4yqqu7fwd3w0sqw8a3ljkqlycsgrn3ks"
BACKUP_FILE, BACKUP_IDENTITY_FILE = "<root>/tmp/vault.age", "<root>/user/backup.key"
BACKUP_CREATE = ["backup", "create", BACKUP_FILE, "--to", BACKUP_RECIPIENT]
BACKUP_VERIFY = ["backup", "verify", BACKUP_FILE, "--identity", BACKUP_IDENTITY_FILE]
BACKUP_RESTORE = ["backup", "restore", BACKUP_FILE, "--identity", BACKUP_IDENTITY_FILE]


POLICY = b'{"AllowExport": false, "PasscodeMinimumLength": 4}'
POLICY_INSTALL = ["policy", "install", "<root>/rules.json"]
POLICY_SHOW = ["policy", "show"]
EARLIER_POLICY = b'{"AllowImport": false}'
POLICY_TAKE = ["policy", "take", "<root>/user/rules.policy"]


def policy_sign(path, key, vault, counter):
    return ["policy", "sign", path, "--key-file", key, "--vault", vault, "--counter", str(counter)]


def policy_in(document):
    return frozenset(value["key"] for value in document["values"])


def file_rename(identifier, name):
    return ["file", "rename", identifier, name]


def file_view(identifier, script, *options):
    """The script has the path of the copy in $1."""
    return ["file", "view", identifier, *options, "--", "sh", "-c", script, "sh", "{}"]


def file_export(identifier, path):
    return ["file", "export", identifier, path]


FILE_REINDEX = ["file", "reindex"]
# As editors save: a new file that takes the name of the old one.
EDIT = 'd=$(dirname "$1"); tr a-z A-Z <"$1" >"$d/.new" && mv "$d/.new" "$1"'


def tokens_in(document):
    """(service, account, kind, version) of every token in the output of TOKEN_LIST."""
    return [(entry["service"], entry["account"], entry["kind"], entry["version"]) for entry in document["tokens"]]


def files_in(document):
    """(id, name, length) of every file in the output of FILE_LIST."""
    return [(entry["id"], entry["name"], entry["length"]) for entry in document["files"]]


def keys_in(document):
    """(alias, fingerprint) of every current key pair in the output of KEY_LIST."""
    return [(entry["alias"], entry["fingerprint"]) for entry in document["keyPairs"] if entry["role"] == "current"]


def other_keys_in(document):
    """(alias, fingerprint, role) of every key pair of a rotation that is not current in the output of KEY_LIST."""
    return [(entry["alias"], entry["fingerprint"], entry["role"]) for entry in document["keyPairs"]
            if entry["role"] != "current"]


def certificates_in(document):
    """The state and the issuer of each key pair's certificate in the output of KEY_LIST, by alias."""
    return {entry["alias"]: tuple((entry["certificate"] or {}).get(part) for part in ("state", "issuer"))
            for entry in document["keyPairs"] if entry["role"] == "current"}


def id_of_added(document):
    return document["id"]


def state_in(done):
    """The word for a home's state in the output of STATUS: uninitialised, locked, unlocked or wiped."""
    document = done.document() or {}
    if "state" in document:
        return document["state"]
    return {UNINITIALISED: "uninitialised", WIPED: "wiped"}.get(done.code)


def passcode_in(document):
    return bool(document["passcode"])


def attempts_in(document):
    return document["attemptsLeft"]


def recovery_key_in(document):
    """The number of the recovery key in the output of STATUS."""
    return document["recoveryKey"]


def new_recovery_key_in(document):
    """The number and the text of a key that RECOVERY_CREATE or RECOVERY_USE made."""
    return document["number"], document["recoveryKey"].encode()


def vault_in(document):
    return uuid.UUID(document["vaultID"]).bytes


def says_done(done):
    """Whether the command told its caller that it did what it was asked, even if it was killed right after."""
    document = done.document()
    return done.code == OK or (done.code < 0 and isinstance(document, dict) and bool(document)
                               and "error" not in document)


def unsupported(done):
    error = (done.document() or {}).get("error", {})
    return done.code == USAGE or "unsupported" in str(error.get("code", "")).lower()


# Bytes that stand in every key file, and must stand nowhere after a wipe.
KEY_FILE_MAGIC = b"COFFERK1"

# ---------------------------------------------------------------------------------------------------------------
# Faults

ACTIONS = {  # name: (FI_ACT, further variables)
    "kill": ("kill", {}),
    "killafter": ("killafter", {}),
    "torn": ("torn", {}),
    "torn-early": ("torn", {"FI_SPLIT": "5"}),
    "torn-late": ("torn", {"FI_SPLIT": "95"}),
    "short": ("short", {}),
    "EINTR": ("EINTR", {"FI_TIMES": "3"}),
    "EIO": ("EIO", {}),
    "ENOSPC": ("ENOSPC", {}),
    "EIO-sticky": ("EIO", {"FI_STICKY": "1"}),
    "ENOSPC-sticky": ("ENOSPC", {"FI_STICKY": "1"}),
}
WRITES = {"write", "pwrite", "writev", "pwritev"}
SYNCS = {"fsync", "fdatasync"}
INTERRUPTIBLE = WRITES | SYNCS | {"open", "openat", "ftruncate", "posix_fallocate"}
TIME_OUT = 20


def applies(action, call):
    """Only a write can be cut short, and only some calls can be interrupted."""
    if action.startswith("torn") or action == "short":
        return call in WRITES
    return action != "EINTR" or call in INTERRUPTIBLE


def deadly(action):
    return ACTIONS[action][0] in ("kill", "killafter", "torn")


def harmless(action):
    """A program has to go on after these as if nothing had happened."""
    return action in ("short", "EINTR")


@dataclasses.dataclass(frozen=True)
class Fault:
    point: int
    call: str
    action: str

    def __str__(self):
        return "%s at %d (%s)" % (self.action, self.point, self.call)


class Problem(Exception):
    """A run that did not end as it must. `kind` is a column of the table."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind


@dataclasses.dataclass
class Done:
    code: int
    out: bytes
    err: bytes

    def document(self):
        try:
            return json.loads(self.out)
        except ValueError:
            return None

    def __str__(self):
        lines = self.err.decode(errors="backslashreplace").strip().splitlines()
        return "exit %d%s" % (self.code, ": " + lines[-1] if lines else "")


class Place:
    """A home with everything around it that the command may write to, in one folder that can be copied."""

    def __init__(self, root):
        self.root, self.home = root, os.path.join(root, "home")
        self.log = root + ".log"

    def make(self):
        for name in ("user", "run", "state", "tmp"):
            os.makedirs(os.path.join(self.root, name), mode=0o700)
        return self

    def environment(self):
        kept = ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "LLVM_PROFILE_FILE")
        inside = {"HOME": "user", "XDG_RUNTIME_DIR": "run", "XDG_STATE_HOME": "state", "TMPDIR": "tmp",
                  "COFFER_HOME": "home"}
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            **{name: os.path.join(self.root, folder) for name, folder in inside.items()},
            "LANG": "C.UTF-8",
            "SWIFT_BACKTRACE": "enable=no",
        }

    def entries(self):
        """Relative path and absolute path of everything inside."""
        for folder, folders, files in os.walk(self.root):
            for name in folders + files:
                path = os.path.join(folder, name)
                yield os.path.relpath(path, self.root), path


class Command:
    """Runs the command, with a fault or without."""

    def __init__(self, program, shim):
        self.program, self.shim = program, shim

    def __call__(self, place, arguments, passcode=None, new=None, given=b"", json_output=True, fault=None,
                 log=False, below=None, recovery=None, before=()):
        environment, readers = place.environment(), []
        # What is behind -- is another command's.
        end = arguments.index("--") if "--" in arguments else len(arguments)
        arguments, behind = [*before, self.program, *arguments[:end]], arguments[end:]
        arguments += ["--json"] if json_output else []
        for option, secret in (("--passcode-fd", passcode), ("--new-passcode-fd", new), ("--recovery-fd", recovery)):
            if secret is not None:
                reader, writer = os.pipe()
                readers.append(reader)
                os.write(writer, secret + b"\n")
                os.close(writer)
                arguments += [option, str(reader)]
        arguments += behind
        if fault or log:
            environment.update(LD_PRELOAD=self.shim, FI_PREFIX=below or place.home, FI_LOG=place.log, FI_ACT="log")
        if fault:
            act, more = ACTIONS[fault.action]
            environment.update(FI_AT=str(fault.point), FI_ACT=act, **more)
        try:
            done = subprocess.run(arguments, input=given, env=environment, pass_fds=readers, capture_output=True,
                                  timeout=TIME_OUT, start_new_session=True, cwd=place.root)
        except subprocess.TimeoutExpired:
            words = arguments[len(before) + 1:len(before) + 3]
            raise Problem("other", "%s: no end after %d s" % (" ".join(words), TIME_OUT)) from None
        finally:
            for reader in readers:
                os.close(reader)
        if done.returncode == 97 and b"faultshim:" in done.stderr:
            raise RuntimeError(done.stderr.decode())
        return Done(done.returncode, done.stdout, done.stderr)

    def succeed(self, place, arguments, **options):
        done = self(place, arguments, **options)
        if done.code != OK:
            raise Problem("mixed", "%s: %s" % (" ".join(arguments[:2]), done))
        return done


def logged_calls(place):
    """The calls in the shim's log, in the order of their numbers."""
    with contextlib.suppress(FileNotFoundError), open(place.log, errors="backslashreplace") as stream:
        lines = [line.split(" ", 2) for line in stream]
        return [line[1] for line in sorted(lines, key=lambda line: int(line[0]))]
    return []


# ---------------------------------------------------------------------------------------------------------------
# The content of a home, and what it looks like from outside

PASSCODES = {"old": b"48392017", "new": b"73920485", "third": b"59038271", "wrong": b"11029384"}


@dataclasses.dataclass(frozen=True)
class State:
    """All that can be seen through the command."""

    opened_by: frozenset
    tokens: frozenset
    files: tuple
    keys: frozenset

    def difference(self, other):
        words = []
        for field in dataclasses.fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine != theirs:
                words.append("%s %s instead of %s" % (field.name, sorted(mine), sorted(theirs)))
        return "; ".join(words)


def digest(content):
    return hashlib.sha256(content).hexdigest()[:12]


class Template:
    """Tokens and files to lose, each with a mark that can be searched for."""

    def __init__(self, command, root, inputs, seed, passcode):
        source = random.Random("%s %s" % (seed, passcode))
        self.passcode = passcode
        self.place = Place(os.path.join(root, "template-" + (passcode or "none"))).make()
        self.marks = [source.randbytes(24).hex().encode() for _ in range(8)]
        # The one that is removed has no kind on the command line, neither when it is put nor when it is removed.
        self.tokens = {
            ("probe.example", "ada", "refresh"): self.marks[0],
            ("replace.example", self.marks[1].decode(), "access"): self.marks[2],
            ("remove.example", "bytes", None): b"\0\n\xff" + self.marks[3] + b"\r\n\0",
        }
        self.contents = {
            "one chunk %s.txt" % self.marks[4].decode(): self.marks[5] * 20,
            "many chunks.bin": source.randbytes(150_000) + self.marks[6],
            "empty": b"",
        }
        self.added = os.path.join(inputs, "added.bin")
        secret = {"passcode": PASSCODES[passcode]} if passcode else {}
        command.succeed(self.place, INIT + ([] if passcode else NO_PASSCODE), **secret)
        for (service, account, kind), value in self.tokens.items():
            command.succeed(self.place, token_put(service, account, kind), given=value, **secret)
        for alias in ("kept", "other", "rotated", "renewed"):
            command.succeed(self.place, key_generate(alias), **secret)
        command.succeed(self.place, key_rotate("rotated"), **secret)
        self.certificate = os.path.join(inputs, "certificate.pem")
        request = command.succeed(self.place, key_csr("other"), **secret).document()["request"]
        with open(self.certificate, "wb") as stream:
            stream.write(signed_by_authority(inputs, request.encode()))
        # "renewed" has a certificate, and a new key pair beside it, for which there is one.
        command.succeed(self.place, key_self_signed("renewed"), **secret)
        command.succeed(self.place, key_rotate("renewed"), **secret)
        self.renewal = os.path.join(inputs, "renewal.pem")
        request = command.succeed(self.place, key_csr("renewed"), **secret).document()["request"]
        with open(self.renewal, "wb") as stream:
            stream.write(signed_by_authority(inputs, request.encode()))
        self.key_file = key_file(inputs)
        stored = command.succeed(self.place, KEY_LIST).document()
        self.keys = {fingerprint for _, fingerprint in keys_in(stored)}
        self.keys |= {fingerprint for _, fingerprint, _ in other_keys_in(stored)}
        self.files = {}
        for name, content in self.contents.items():
            path = os.path.join(inputs, name)
            with open(path, "wb") as stream:
                stream.write(content)
            self.files[name] = id_of_added(command.succeed(self.place, file_add(path), **secret).document())
        with open(self.added, "wb") as stream:
            stream.write(self.marks[7] * 3000)
        os.utime(self.added, (1_600_000_000, 1_600_000_000))
        # A tombstone may name the vault it was; all else in a key file must be gone.
        vault_id = vault_in(command.succeed(self.place, STATUS).document())
        contents = [read_file(path) for _, path in self.place.entries()]
        self.key_bytes = b"".join(content.replace(vault_id, b"") for content in contents if KEY_FILE_MAGIC in content)

    @property
    def probe(self):
        return token_get(*next(iter(self.tokens))), next(iter(self.tokens.values()))


def signed_by_authority(folder, request):
    """What an authority of openssl's answers to a request."""
    key, certificate = os.path.join(folder, "authority.key"), os.path.join(folder, "authority.pem")
    if not os.path.exists(certificate):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc",
                        "-keyout", key, "-out", certificate, "-subj", "/CN=authority", "-days", "365"],
                       check=True, capture_output=True)
    return subprocess.run(["openssl", "x509", "-req", "-days", "300", "-CA", certificate, "-CAkey", key],
                          input=request, check=True, capture_output=True).stdout


def key_file(folder):
    """A private key of openssl's with a certificate, in PEM."""
    path = os.path.join(folder, "imported.pem")
    if not os.path.exists(path):
        key = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519"], check=True, capture_output=True).stdout
        with open(path, "wb") as stream:
            stream.write(key)
        certificate = subprocess.run(["openssl", "req", "-x509", "-key", path, "-subj", "/CN=imported", "-days", "90"],
                                     check=True, capture_output=True).stdout
        with open(path, "ab") as stream:
            stream.write(certificate)
    return path


def read_file(path):
    if os.path.isfile(path) and not os.path.islink(path):
        with open(path, "rb") as stream:
            return stream.read()
    return b""


def observe(command, place, template, candidates):
    """The state of a home. Raises Problem when it cannot be seen whole.

    Every candidate passcode is tried, and none at all; reading everything then clears the failed attempts.
    """
    status = command.succeed(place, STATUS)
    if state_in(status) not in ("locked", "unlocked"):
        raise Problem("mixed", "the home is %s" % state_in(status))
    has_passcode = passcode_in(status.document())
    get, value = template.probe
    opened_by = set()
    for name in [*(candidates if has_passcode else []), None]:
        done = command(place, get, passcode=PASSCODES.get(name), json_output=False)
        if done.code == OK and done.out == value:
            opened_by.add(name or "nothing")
        elif done.code not in (WRONG_PASSCODE, LOCKED) or done.out:
            raise Problem("mixed", "reading a token with %s: %s" % (name or "no passcode", done))
    if has_passcode == ("nothing" in opened_by) or len(opened_by) != 1:
        raise Problem("mixed", "passcode %s, and opened by %s" % (has_passcode, sorted(opened_by) or "nothing"))
    secret = {"passcode": PASSCODES.get(next(iter(opened_by)))}
    tokens = set()
    for service, account, kind, version in tokens_in(command.succeed(place, TOKEN_LIST, **secret).document()):
        got = command.succeed(place, token_get(service, account, kind), json_output=False, **secret)
        tokens.add((service, account, kind, version, digest(got.out)))
    files, known = [], set(template.files.values())
    for identifier, name, length in files_in(command.succeed(place, FILE_LIST, **secret).document()):
        got = command.succeed(place, file_cat(identifier), json_output=False, **secret)
        files.append((identifier if identifier in known else "new", name, length, digest(got.out)))
    return State(frozenset(opened_by), frozenset(tokens), tuple(sorted(files)),
                 observe_keys(command, place, template, secret))


def observe_keys(command, place, template, secret):
    """Every key pair with its certificate, after it has signed and its public key has verified."""
    keys, document = set(), command.succeed(place, KEY_LIST).document()
    for alias, fingerprint in keys_in(document):
        signature = command.succeed(place, key_sign(alias), given=b"message", **secret).document()["signature"]
        command.succeed(place, key_verify(alias, signature), given=b"message")
        keys.add((alias, fingerprint if fingerprint in template.keys else "new",
                  *(part or "" for part in certificates_in(document)[alias])))
    for alias, fingerprint, role in other_keys_in(document):
        keys.add((alias, fingerprint if fingerprint in template.keys else "new", role, ""))
    return frozenset(keys)


VARIABLE = re.compile(
    r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}|[0-9A-Fa-f]{8,}|[A-Za-z0-9_-]{20,}|(?<=/)[0-9a-f]{2}(?=/)"
    r"|\d{3,}")


def listing(place):
    """How many entries of each name there are, random parts of the names made equal."""
    return collections.Counter(VARIABLE.sub("<id>", "/" + relative) for relative, _ in place.entries())


def surplus(found, references):
    """What there is more of than without a fault. One fixed name may come from either reference, as a lock file does."""
    allowed = {name for reference in references for name in reference}
    # Where views lie when the usual runtime directory is not used is recorded, and stays.
    allowed.update(("/home/vault/viewroot", "/home/vault/viewroots"))
    return sorted(
        "%s (%d)" % (name, count) for name, count in found.items()
        if ("<id>" in name and count > references[0][name]) or ("<id>" not in name and name not in allowed))


def disguises(mark):
    """A mark as it could stand in a file: plain, hexadecimal, UTF-16, or in the middle of Base64."""
    yield mark
    yield mark.hex().encode()
    yield mark.hex().upper().encode()
    yield b"".join(bytes([byte, 0]) for byte in mark)
    for shift in range(3):
        yield base64.b64encode(bytes(shift) + mark)[4:-4]


def telling(piece):
    """Whether 32 bytes are so varied that they are no accident."""
    return len(piece) == 32 and len(set(piece)) >= 16


def find_remains(place, template):
    """What a wipe should have taken: marks, key files, and any 32 bytes that stood in one. None when all is gone."""
    needles = [needle for mark in template.marks for needle in disguises(mark)] + [KEY_FILE_MAGIC]
    for relative, path in place.entries():
        content = read_file(path)
        for needle in needles:
            if needle in content or needle in os.fsencode(relative):
                return "%r in %s" % (needle, relative)
        for start in range(len(content) - 31):
            piece = content[start : start + 32]
            if telling(piece) and piece in template.key_bytes:
                return "32 bytes of a key file in %s at %d" % (relative, start)
    return None


class HeldContainers:
    """Further links to every container, by which their blocks can be read when the home has let go of them."""

    def __init__(self, place):
        self.files, self.folder = os.path.join(place.home, "vault", "files"), place.root + ".links"
        self.headers = {}

    def hold(self):
        os.makedirs(self.folder, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(self.files):
                source = os.path.join(self.files, name)
                number = str(os.stat(source).st_ino)
                if number not in self.headers:
                    os.link(source, os.path.join(self.folder, number))
                    self.headers[number] = read_file(source)[:4096]

    def judge(self):
        """What the home let go of must not hold its wrapped keys any more."""
        for number, header in self.headers.items():
            path = os.path.join(self.folder, number)
            if os.stat(path).st_nlink > 1:
                continue
            now = read_file(path)[:4096]
            for start in range(0, len(header) - 15, 8):
                piece = header[start : start + 16]
                if len(set(piece)) > 8 and piece in now:
                    raise Problem("residue", "byte %d of a header is still in the blocks of a container" % start)


@contextlib.contextmanager
def held_containers(place):
    held = HeldContainers(place)
    held.hold()
    try:
        yield held
    finally:
        shutil.rmtree(held.folder, ignore_errors=True)


# ---------------------------------------------------------------------------------------------------------------
# Operations

class Bench:
    """What all operations share: the command, the templates, fresh copies, the options."""

    def __init__(self, command, root, seed, strict_sync, keep):
        self.command, self.root, self.seed = command, root, seed
        self.strict_sync, self.keep = strict_sync, keep
        self.inputs = os.path.join(root, "inputs")
        os.mkdir(self.inputs)
        self.templates, self.numbers, self.lock = {}, itertools.count(1), threading.Lock()
        self.empty = Place(os.path.join(root, "template-empty")).make()

    def template(self, passcode):
        with self.lock:
            if passcode not in self.templates:
                self.templates[passcode] = Template(self.command, self.root, self.inputs, self.seed, passcode)
            return self.templates[passcode]

    @contextlib.contextmanager
    def copy(self, original):
        place = Place(os.path.join(self.root, "run-%d" % next(self.numbers)))
        subprocess.run(["cp", "-a", original.root, place.root], check=True)
        try:
            yield place
        except Problem as problem:
            if self.keep:
                problem.args = ("%s [%s]" % (problem, place.root),)
                raise
            self.remove(place)
            raise
        except BaseException:
            self.remove(place)
            raise
        self.remove(place)

    @staticmethod
    def remove(place):
        shutil.rmtree(place.root, ignore_errors=True)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place.log)


class Operation:
    """An operation on a store: before or after, nothing else."""

    def __init__(self, name, passcode, arguments, given=b"", new=None, candidates=None, store="tokens",
                 may_be_unsupported=False, everywhere=False):
        self.name, self.passcode, self.arguments, self.given = name, passcode, arguments, given
        self.new, self.store, self.may_be_unsupported = new, store, may_be_unsupported
        # Whether its crash points are also those outside the home, in memory or at a file's destination.
        self.everywhere = everywhere
        self.candidates = candidates if candidates is not None else ([passcode] if passcode else [])
        self.expected = OK

    def start(self, bench):
        self.bench, self.command = bench, bench.command
        self.template = bench.template(self.passcode)
        self.original = self.template.place
        return self

    def perform(self, place, fault=None, log=False):
        arguments = [word.replace("<root>", place.root) for word in self.arguments(self.template)]
        return self.command(place, arguments, given=self.given, fault=fault, log=log,
                            passcode=PASSCODES.get(self.passcode), new=PASSCODES.get(self.new),
                            below=place.root if self.everywhere else None)

    def learn(self):
        """Runs without faults: the calls that are the crash points, and how it looks before and after."""
        with self.bench.copy(self.original) as place:
            done = self.perform(place, log=True)
            if self.may_be_unsupported and unsupported(done):
                return None
            if done.code != self.expected:
                raise Problem("other", "without a fault: %s" % done)
            calls = logged_calls(place)
            if not calls:
                raise Problem("other", "the shim saw no call")
            self.learn_after(place, done)
        with self.bench.copy(self.original) as place:
            self.learn_before(place)
        return calls

    def learn_after(self, place, done):
        self.after = observe(self.command, place, self.template, self.candidates)
        self.after_listing = self.mutate_and_list(place, self.after)

    def learn_before(self, place):
        self.before = observe(self.command, place, self.template, self.candidates)
        self.before_listing = self.mutate_and_list(place, self.before)

    def run(self, fault):
        """One run on a fresh copy; raises Problem when it ends as it must not."""
        with self.bench.copy(self.original) as place, held_containers(place) as held:
            done = self.perform(place, fault=fault)
            held.hold()
            self.judge_exit(fault, done, hit=len(logged_calls(place)) >= fault.point)
            self.judge_home(place, done)
            self.judge_blocks(held)

    def judge_blocks(self, held):
        held.judge()

    def judge_exit(self, fault, done, hit):
        if deadly(fault.action):
            if hit and done.code != -signal.SIGKILL:
                raise Problem("other", "not killed: %s" % done)
        elif done.code < 0:
            raise Problem("other", "the command crashed: %s" % done)
        if (harmless(fault.action) or not hit) and done.code != self.expected:
            raise Problem("other", "should have gone on as if nothing had happened: %s" % done)
        if self.bench.strict_sync and hit and fault.call in SYNCS and done.code == OK and fault.action == "EIO":
            raise Problem("other", "success in spite of a failed %s" % fault.call)

    def judge_home(self, place, done):
        state = observe(self.command, place, self.template, self.candidates)
        if state == self.after:
            references = [self.after_listing, self.before_listing]
        elif state == self.before:
            if says_done(done):
                raise Problem("lost", "reported done (%s), but all is as before" % done)
            references = [self.before_listing, self.after_listing]
        else:
            raise Problem("mixed", "not as before: %s; not as after: %s"
                          % (state.difference(self.before), state.difference(self.after)))
        if self.before == self.after:
            references = [self.before_listing | self.after_listing]
        left = surplus(self.mutate_and_list(place, state), references)
        if left:
            raise Problem("residue", "left behind: " + ", ".join(left[:5]))

    def mutate_and_list(self, place, state):
        """The next change of the same store, which has to succeed, and what files there are then."""
        for relative, path in place.entries():
            # The directory of a view that was killed at its birth goes when it is a minute old.
            if os.path.basename(relative).startswith(".new-"):
                os.utime(path, (time.time() - 120,) * 2)
        opened_by = next(iter(state.opened_by))
        secret = {"passcode": PASSCODES.get(opened_by)}
        if self.store == "tokens":
            self.command.succeed(place, token_put("next.example", "ada", "other"), given=b"next", **secret)
        elif self.store == "files":
            self.command.succeed(place, file_add(self.template.added), **secret)
        elif opened_by == "nothing":
            self.command.succeed(place, PASSCODE_SET, new=PASSCODES["third"])
        else:
            self.command.succeed(place, PASSCODE_CHANGE, new=PASSCODES["third"], **secret)
        return listing(place)


class Reclass(Operation):
    """Items get another class: each has its former one or the new one, and running it again completes it."""

    def __init__(self):
        super().__init__("reclass", "old", lambda template: RECLASS)

    def judge_home(self, place, done):
        super().judge_home(place, done)
        secret = {"passcode": PASSCODES["old"]}
        if done.code == OK and self.classes(place, secret) != {"whenUnlocked", "whenUnlockedThisDeviceOnly"}:
            raise Problem("lost", "reported done, but the classes are %s" % self.classes(place, secret))
        self.command.succeed(place, RECLASS, **secret)
        if self.classes(place, secret) != {"whenUnlocked"}:
            raise Problem("mixed", "after a second run, the classes are %s" % self.classes(place, secret))
        for identifier in self.template.files.values():
            self.command.succeed(place, file_cat(identifier), json_output=False, **secret)

    def classes(self, place, secret):
        """Those of all items. The token that was put to see whether one can be put has the default class."""
        tokens = self.command.succeed(place, TOKEN_LIST, **secret).document()["tokens"]
        files = self.command.succeed(place, FILE_LIST, **secret).document()["files"]
        return {item["class"] for item in tokens + files}


def below(place, arguments):
    return [word.replace("<root>", place.root) for word in arguments]


class BackupCreate(Operation):
    """The home stays as it is, and there is either no backup or a complete one."""

    def __init__(self):
        super().__init__("backup-create", "old", lambda template: BACKUP_CREATE, everywhere=True)

    def judge_home(self, place, done):
        super().judge_home(place, done)
        with open(below(place, [BACKUP_IDENTITY_FILE])[0], "wb") as stream:
            stream.write(BACKUP_IDENTITY)
        if os.path.exists(below(place, [BACKUP_FILE])[0]):
            self.command.succeed(place, below(place, BACKUP_VERIFY))
        elif says_done(done):
            raise Problem("lost", "reported done, but there is no backup")


class BackupRestore(Operation):
    """Items come back one by one, nothing is lost meanwhile, and running it again completes it."""

    def __init__(self):
        super().__init__("backup-restore", "old", lambda template: BACKUP_RESTORE, everywhere=True)

    def start(self, bench):
        super().start(bench)
        place, secret = self.original, {"passcode": PASSCODES["old"]}
        if os.path.exists(below(place, [BACKUP_FILE])[0]):
            return self
        # A copy of the template, whose items may move, and from which some are gone after the backup.
        root = place.root + "-restore"
        shutil.copytree(place.root, root, symlinks=True)
        self.original = place = Place(root)
        self.command.succeed(place, RECLASS, **secret)
        with open(below(place, [BACKUP_IDENTITY_FILE])[0], "wb") as stream:
            stream.write(BACKUP_IDENTITY)
        self.command.succeed(place, below(place, BACKUP_CREATE), **secret)
        self.command.succeed(place, token_remove("remove.example", "bytes"), **secret)
        self.command.succeed(place, file_remove(self.template.files["many chunks.bin"]), **secret)
        return self

    def judge_home(self, place, done):
        state = observe(self.command, place, self.template, self.candidates)
        items = [set(one.tokens) | set(one.files) for one in (self.before, state, self.after)]
        if not items[0] <= items[1] <= items[2]:
            raise Problem("mixed", "not as before or after: %s" % state.difference(self.after))
        secret = {"passcode": PASSCODES["old"]}
        if says_done(done) and state != self.after:
            raise Problem("lost", "reported done, but %s" % state.difference(self.after))
        self.command.succeed(place, below(place, BACKUP_RESTORE), **secret)
        state = observe(self.command, place, self.template, self.candidates)
        if state != self.after:
            raise Problem("mixed", "after a second run: %s" % state.difference(self.after))


class PolicyInstall(Operation):
    """A policy for all users is there whole or not at all, and installing it again leaves nothing else behind."""

    def __init__(self):
        super().__init__("policy-install", "old", lambda template: POLICY_INSTALL)

    def start(self, bench):
        super().start(bench)
        root = self.template.place.root + "-policy"
        if not os.path.exists(root):
            shutil.copytree(self.template.place.root, root, symlinks=True)
            os.mkdir(os.path.join(root, "etc"))
            os.chmod(os.path.join(root, "etc"), 0o755)
            for name in ("passwd", "group", "nsswitch.conf", "ld.so.cache"):
                with contextlib.suppress(FileNotFoundError):
                    shutil.copy("/etc/" + name, os.path.join(root, "etc"))
            with open(below(Place(root), POLICY_INSTALL)[-1], "wb") as stream:
                stream.write(POLICY)
        self.original = Place(root)
        return self

    @staticmethod
    def inside(place):
        """The words before a command that sees the folder `etc` of a place as /etc."""
        return ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', os.path.join(place.root, "etc")]

    def learn(self):
        # The policy belongs to root.
        if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            return None
        return super().learn()

    def perform(self, place, fault=None, log=False):
        return self.command(place, below(place, POLICY_INSTALL), fault=fault, log=log, below="/etc",
                            before=self.inside(place))

    def look(self, place):
        """The keys that hold. A vault opens under them."""
        inside = {"before": self.inside(place)}
        self.command.succeed(place, TOKEN_LIST, passcode=PASSCODES["old"], **inside)
        return policy_in(self.command.succeed(place, POLICY_SHOW, **inside).document())

    def learn_after(self, place, done):
        self.after = self.look(place)
        self.after_listing = self.again(place)

    def learn_before(self, place):
        self.before = self.look(place)
        if self.before or len(self.after) != 2:
            raise Problem("other", "%s before, %s after" % (self.before, self.after))

    def again(self, place):
        done = self.perform(place)
        if done.code != OK or self.look(place) != self.after:
            raise Problem("mixed", "a second run: %s" % done)
        return listing(place)

    def judge_home(self, place, done):
        keys = self.look(place)
        if keys not in (self.before, self.after):
            raise Problem("mixed", "the keys are %s" % sorted(keys))
        if says_done(done) and keys != self.after:
            raise Problem("lost", "reported done, but there is no policy")
        # Otherwise no other user's vault opens any more.
        top = os.path.join(place.root, "etc", "coffer")
        for folder in [top, os.path.join(top, "policy.d")]:
            if os.path.exists(folder) and os.stat(folder).st_mode & 0o055 != 0o055:
                raise Problem("mixed", "other users cannot read %s" % folder)
        left = surplus(self.again(place), [self.after_listing])
        if left:
            raise Problem("residue", "left behind: " + ", ".join(left[:5]))


class PolicyTake(Operation):
    """A signed policy is obeyed whole or not at all, and what was said to be taken is; taking it again completes it."""

    def __init__(self, name, follows):
        super().__init__(name, "old", lambda template: POLICY_TAKE)
        # Whether the vault has taken another policy before.
        self.follows = follows

    def start(self, bench):
        super().start(bench)
        root = self.template.place.root + "-" + self.name
        if not os.path.exists(root):
            shutil.copytree(self.template.place.root, root, symlinks=True)
            self.sign(Place(root))
        self.original = Place(root)
        return self

    def sign(self, place):
        vault = str(uuid.UUID(bytes=vault_in(self.command.succeed(place, STATUS).document())))
        key = os.path.join(place.root, "user", "office.key")
        public = self.command.succeed(place, order_keygen(key), json_output=False).out.decode().strip()
        self.command.succeed(place, order_pin(public), passcode=PASSCODES["old"])
        for counter, document in enumerate([EARLIER_POLICY, POLICY] if self.follows else [POLICY], 1):
            path = os.path.join(place.root, "user", "rules.json")
            with open(path, "wb") as stream:
                stream.write(document)
            signed = self.command.succeed(place, policy_sign(path, key, vault, counter), json_output=False).out
            with open(below(place, POLICY_TAKE)[-1], "wb") as stream:
                stream.write(signed)
            if document != POLICY:
                self.command.succeed(place, below(place, POLICY_TAKE))

    def perform(self, place, fault=None, log=False):
        return self.command(place, below(place, POLICY_TAKE), fault=fault, log=log)

    def look(self, place):
        """The keys that hold. The vault opens under them."""
        self.command.succeed(place, TOKEN_LIST, passcode=PASSCODES["old"])
        return policy_in(self.command.succeed(place, POLICY_SHOW).document())

    def learn_after(self, place, done):
        self.after = self.look(place)
        self.after_listing = self.again(place)

    def learn_before(self, place):
        self.before = self.look(place)
        if len(self.before) != self.follows or len(self.after) != 2:
            raise Problem("other", "%s before, %s after" % (self.before, self.after))

    def again(self, place):
        done = self.perform(place)
        if done.code not in (OK, REPLAYED) or self.look(place) != self.after:
            raise Problem("mixed", "a second run: %s" % done)
        return listing(place)

    def judge_home(self, place, done):
        with self.bench.copy(place) as copy:
            # Without an unlock before it, which would mend the home.
            self.again(copy)
        keys = self.look(place)
        if keys not in (self.before, self.after):
            raise Problem("mixed", "the keys are %s" % sorted(keys))
        if says_done(done) and keys != self.after:
            raise Problem("lost", "reported taken, but not obeyed")
        left = surplus(self.again(place), [self.after_listing])
        if left:
            raise Problem("residue", "left behind: " + ", ".join(left[:5]))


class Rotate(Operation):
    """Keys are replaced: the old ones open everything until all is rewrapped, and then nothing."""

    def __init__(self, name, arguments, **options):
        super().__init__(name, "old", lambda template: arguments, store="keys", **options)

    def start(self, bench):
        super().start(bench)
        keybag = read_file(os.path.join(self.original.home, "vault", "keybag"))
        # The wrapped class keys, behind the header of the slot and the fixed fields.
        wrapped = keybag[44 + 70 : 44 + 70 + 5 * 98]
        pieces = (wrapped[at : at + 32] for at in range(len(wrapped) - 31))
        self.pieces = [piece for piece in pieces if telling(piece)]
        return self

    def judge_home(self, place, done):
        super().judge_home(place, done)
        status = self.command.succeed(place, STATUS).document()
        if status.get("keyRotationUnfinished"):
            raise Problem("mixed", "the rotation is not finished by those who unlock the vault")
        if says_done(done):
            self.judge_old_keys(place)

    def judge_old_keys(self, place):
        for relative, path in place.entries():
            content = read_file(path)
            if any(piece in content for piece in self.pieces):
                raise Problem("residue", "a wrapped old key in %s" % relative)
        for name in ("keybag", "attempts"):
            shutil.copyfile(os.path.join(self.original.home, "vault", name), os.path.join(place.home, "vault", name))
        for arguments in (self.template.probe[0], file_cat(next(iter(self.template.files.values())))):
            opened = self.command(place, arguments, passcode=PASSCODES["old"], json_output=False)
            if opened.code == OK or opened.out:
                raise Problem("lost", "the old keybag opens %s" % " ".join(arguments[:2]))


class Recovery(Operation):
    """The recovery key is made, used or removed: afterwards exactly one key counts, or none, and it opens all slots.

    A new key is printed before it counts, so only the exit code says that it does.
    """

    def __init__(self, name, arguments, has_key, passcode="old", new=None):
        super().__init__(name, "old", lambda template: arguments, new=new, candidates=["old", "new"], store="keys")
        self.has_key, self.given_passcode = has_key, passcode
        self.of_run = threading.local()

    def start(self, bench):
        super().start(bench)
        self.number, self.key = None, None
        if self.has_key:
            self.original = Place(os.path.join(bench.root, "template-" + self.name))
            subprocess.run(["cp", "-a", self.template.place.root, self.original.root], check=True)
            made = self.command.succeed(self.original, RECOVERY_CREATE, passcode=PASSCODES["old"])
            self.number, self.key = new_recovery_key_in(made.document())
        return self

    def perform(self, place, fault=None, log=False):
        return self.command(place, self.arguments(self.template), fault=fault, log=log, new=PASSCODES.get(self.new),
                            passcode=PASSCODES.get(self.given_passcode), recovery=self.key if self.new else None)

    def counting(self, place, done):
        """Which key counts: none, the first or the new one."""
        number = recovery_key_in(self.command.succeed(place, STATUS).document())
        if number is None:
            return "none"
        name, key = "first", self.key
        if number != self.number:
            # The key comes in a document of its own, before that of an error.
            line = done.out.split(b"\n")[0]
            made = new_recovery_key_in(json.loads(line)) if line.endswith(b"}") else (None, None)
            if made[0] != number:
                raise Problem("lost", "recovery key %s counts, and nobody has it" % number)
            name, key = "new", made[1]
        self.command.succeed(place, RECOVERY_CHECK, recovery=key)
        # Without the device key, too: on a copy, whose record of it is gone.
        with self.bench.copy(place) as other:
            os.unlink(os.path.join(other.home, "vault", "device"))
            self.command.succeed(other, RECOVERY_USE, recovery=key, new=PASSCODES["third"])
        return name

    def learn_after(self, place, done):
        self.counting_after = self.counting(place, done)
        super().learn_after(place, done)

    def learn_before(self, place):
        self.counting_before = self.counting(place, Done(1, b"", b""))
        super().learn_before(place)

    def judge_exit(self, fault, done, hit):
        super().judge_exit(fault, done, hit)
        self.of_run.failed_once = fault.action in ("EIO", "ENOSPC")

    def judge_home(self, place, done):
        counting = self.counting(place, done)
        if self.of_run.failed_once and done.code != OK and counting == self.counting_after != self.counting_before:
            raise Problem("other", "reported as failed, and it was done: %s" % done)
        if counting not in (self.counting_before, self.counting_after):
            raise Problem("mixed", "the recovery key that counts is: %s" % counting)
        if done.code == OK and counting != self.counting_after:
            raise Problem("lost", "reported done, and the recovery key that counts is: %s" % counting)
        opened_by = observe(self.command, place, self.template, self.candidates).opened_by
        expected = self.after if counting == self.counting_after else self.before
        if opened_by != expected.opened_by:
            raise Problem("mixed", "recovery key %s, and opened by %s" % (counting, sorted(opened_by)))
        # An unlock has overwritten what the key that counts does not need.
        copy = read_file(os.path.join(place.home, "vault", "recovery"))
        if counting == "none" and copy or copy[:512] != copy[512:]:
            raise Problem("residue", "the copy of the device key holds more than that for %s" % counting)
        super().judge_home(place, Done(1, b"", b""))


class Attempt(Operation):
    """A passcode is tried. The attempt is counted before the passcode is, so no crash gives one for nothing."""

    def __init__(self, name, tried, failures_before):
        super().__init__(name, "old", lambda template: template.probe[0])
        self.tried, self.failures_before = tried, failures_before
        self.expected = OK if tried == "old" else WRONG_PASSCODE

    def start(self, bench):
        super().start(bench)
        if self.failures_before:
            self.original = Place(os.path.join(bench.root, "template-" + self.name))
            subprocess.run(["cp", "-a", self.template.place.root, self.original.root], check=True)
            for number in range(self.failures_before):
                self.command(self.original, self.template.probe[0], passcode=b"9900%04d" % number)
        return self

    def perform(self, place, fault=None, log=False):
        return self.command(place, self.arguments(self.template), passcode=PASSCODES[self.tried], fault=fault,
                            log=log, json_output=False)

    def left(self, place):
        return attempts_in(self.command.succeed(place, STATUS).document())

    def learn_after(self, place, done):
        self.left_after = self.left(place)
        super().learn_after(place, done)
        self.left_in_the_end = self.left(place)

    def learn_before(self, place):
        self.left_before = self.left(place)
        if self.left_before != ATTEMPTS - self.failures_before:
            raise Problem("other", "attemptsLeft is %s at the start" % self.left_before)
        if self.tried == "wrong" and self.left_after != self.left_before - 1:
            raise Problem("other", "attemptsLeft is %s after a wrong passcode" % self.left_after)
        super().learn_before(place)

    def judge_home(self, place, done):
        left = self.left(place)
        # An answer about the passcode, right or wrong, costs an attempt; without an answer it may or may not.
        allowed = {self.left_after} if done.code == WRONG_PASSCODE else {
            self.left_after, self.left_before, self.left_before - 1}
        if left not in allowed:
            raise Problem("lost", "%s left of %s after %s" % (left, self.left_before, done))
        if self.tried == "wrong" and (done.out or done.code == OK):
            raise Problem("lost", "a wrong passcode opened: %s" % done)
        super().judge_home(place, Done(1, b"", b""))
        if self.left(place) != self.left_in_the_end:
            raise Problem("mixed", "%s attempts left after the right passcode" % self.left(place))


class Init(Operation):
    """Makes a home: none, and it can be made again, or a whole one."""

    def __init__(self):
        super().__init__("init", "old", lambda template: INIT)

    def start(self, bench):
        super().start(bench)
        self.original = bench.empty
        return self

    def learn_after(self, place, done):
        self.reference = self.use(place)

    def learn_before(self, place):
        if state_in(self.command(place, STATUS)) != "uninitialised":
            raise Problem("other", "status of no home: %s" % self.command(place, STATUS))

    def judge_home(self, place, done):
        status = self.command(place, STATUS)
        if state_in(status) == "uninitialised":
            if says_done(done):
                raise Problem("lost", "reported done, but there is no home")
            self.command.succeed(place, INIT, passcode=PASSCODES["old"])
        elif state_in(status) not in ("locked", "unlocked"):
            raise Problem("mixed", "status: %s %s" % (state_in(status), status))
        left = surplus(self.use(place), [self.reference])
        if left:
            raise Problem("residue", "left behind: " + ", ".join(left[:5]))

    def use(self, place):
        """Puts and gets a token and a file, and refuses a wrong passcode."""
        secret = {"passcode": PASSCODES["old"]}
        self.command.succeed(place, token_put("a.example", "ada", "other"), given=b"value", **secret)
        get = token_get("a.example", "ada", "other")
        if self.command(place, get, passcode=PASSCODES["wrong"], json_output=False).code != WRONG_PASSCODE:
            raise Problem("mixed", "a wrong passcode is not refused")
        if self.command.succeed(place, get, json_output=False, **secret).out != b"value":
            raise Problem("mixed", "the token came back changed")
        self.command.succeed(place, file_add(self.template.added), **secret)
        if not passcode_in(self.command.succeed(place, STATUS).document()):
            raise Problem("mixed", "the home was made without its passcode")
        return listing(place)


class Wipe(Operation):
    """Before the tombstone all is as it was; after it nothing ever comes back."""

    def __init__(self):
        super().__init__("wipe", "old", lambda template: WIPE)

    def perform(self, place, fault=None, log=False):
        return self.command(place, WIPE, fault=fault, log=log)

    def learn_after(self, place, done):
        self.judge_wiped(place)

    def learn_before(self, place):
        super().learn_before(place)
        # The search must be able to find: the magic in a home that was not wiped, and a mark in plain sight.
        if not self.template.key_bytes or not find_remains(place, self.template):
            raise Problem("other", "control: no file with %r in a fresh home" % KEY_FILE_MAGIC)
        shutil.rmtree(place.home)
        keys = self.template.key_bytes
        pieces = (keys[start : start + 32] for start in range(len(keys)))
        for needle in [*disguises(self.template.marks[0]), next(filter(telling, pieces))]:
            with open(os.path.join(place.root, "tmp", "control"), "wb") as stream:
                stream.write(b"x" * 100 + needle + b"y" * 100)
            if not find_remains(place, self.template):
                raise Problem("other", "control: the search does not find %r" % needle)

    def judge_blocks(self, held):
        """A wipe destroys what unwraps the keys in the headers, and leaves the headers of thousands of files alone."""

    def judge_home(self, place, done):
        if says_done(done):
            remains = find_remains(place, self.template)
            if remains:
                raise Problem("residue", "reported done, but " + remains)
        if state_in(self.command(place, STATUS)) == "wiped":
            self.judge_wiped(place)
            return
        if says_done(done):
            raise Problem("lost", "reported done, but the home opens")
        state = observe(self.command, place, self.template, self.candidates)
        if state != self.before:
            raise Problem("mixed", "neither wiped nor as before: " + state.difference(self.before))
        left = surplus(self.mutate_and_list(place, state), [self.before_listing])
        if left:
            raise Problem("residue", "left behind: " + ", ".join(left[:5]))

    def judge_wiped(self, place):
        secret = {"passcode": PASSCODES["old"]}
        identifier = next(iter(self.template.files.values()))
        for arguments in (self.template.probe[0], TOKEN_LIST, token_put("a.example", "ada"), FILE_LIST,
                          file_cat(identifier), file_add(self.template.added), PASSCODE_CHANGE):
            new = {"new": PASSCODES["new"]} if arguments is PASSCODE_CHANGE else {}
            done = self.command(place, arguments, given=b"value", **secret, **new)
            if done.code != WIPED:
                raise Problem("mixed", "%s on a wiped home: %s" % (" ".join(arguments[:2]), done))
        if state_in(self.command(place, STATUS)) != "wiped":
            raise Problem("mixed", "wiped, and then no longer: %s" % self.command(place, STATUS))
        remains = find_remains(place, self.template)
        if remains:
            raise Problem("residue", remains)


class WipeTokens(Operation):
    """The tokens alone: all of them or none, and everything else is as it was."""

    def __init__(self):
        super().__init__("wipe-tokens", "old", lambda template: WIPE_TOKENS)

    def perform(self, place, fault=None, log=False):
        return self.command(place, WIPE_TOKENS, fault=fault, log=log)

    def start(self, bench):
        super().start(bench)
        # The file begins with a magic and the vault's id; what follows is sealed.
        content = read_file(os.path.join(self.original.home, "vault", "tokens"))[32:]
        pieces = (content[at : at + 32] for at in range(0, len(content) - 31, 16))
        self.pieces = [piece for piece in pieces if telling(piece)]
        if not self.pieces:
            raise Problem("other", "control: the token file of the template holds nothing to look for")
        return self

    def files(self, place):
        secret = {"passcode": PASSCODES["old"]}
        found = []
        for identifier, name, length in files_in(self.command.succeed(place, FILE_LIST, **secret).document()):
            got = self.command.succeed(place, file_cat(identifier), json_output=False, **secret)
            found.append((identifier, name, length, digest(got.out)))
        return sorted(found)

    def learn_after(self, place, done):
        if tokens_in(self.command.succeed(place, TOKEN_LIST, passcode=PASSCODES["old"]).document()):
            raise Problem("other", "without a fault, tokens are left")
        # A state that no home with tokens has: those are compared with what was before.
        self.after = None
        self.after_files = self.files(place)
        self.judge_remains(place)
        self.after_listing = self.next_token(place)

    def judge_remains(self, place):
        for relative, path in place.entries():
            content = read_file(path)
            if any(piece in content for piece in self.pieces):
                raise Problem("residue", "a piece of the old token file in %s" % relative)

    def next_token(self, place):
        put = token_put("next.example", "ada", "other")
        self.command.succeed(place, put, given=b"next", passcode=PASSCODES["old"])
        return listing(place)

    def judge_home(self, place, done):
        tokens = tokens_in(self.command.succeed(place, TOKEN_LIST, passcode=PASSCODES["old"]).document())
        if tokens:
            return super().judge_home(place, done) if not says_done(done) else self.lost()
        if self.files(place) != self.after_files:
            raise Problem("mixed", "the tokens are gone, and the files are not as before")
        self.judge_remains(place)
        left = surplus(self.next_token(place), [self.after_listing])
        if left:
            raise Problem("residue", "left behind: " + ", ".join(left[:5]))

    def lost(self):
        raise Problem("lost", "reported done, and tokens are there")


@dataclasses.dataclass(frozen=True)
class SecondFault(Fault):
    first: Fault = None

    def __str__(self):
        return "kill at %d (%s) of the wipe, then %s of the reopening" % (
            self.first.point, self.first.call, super().__str__())


class WipeResume(Wipe):
    """A wipe is interrupted, and so is the opening that would finish it."""

    def __init__(self):
        super().__init__()
        self.name = "wipe-resume"

    def learn(self):
        """Homes killed at every point of the wipe; the points are those of reopening them."""
        calls, self.broken, self.seconds = super().learn(), {}, []
        for point, call in enumerate(calls, 1):
            first = Fault(point, call, "kill")
            place = Place(os.path.join(self.bench.root, "interrupted-%d" % point))
            subprocess.run(["cp", "-a", self.original.root, place.root], check=True)
            self.perform(place, fault=first)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place.log)
            with self.bench.copy(place) as copy:
                finishes = state_in(self.command(copy, STATUS, log=True)) == "wiped"
                seconds = logged_calls(copy)
            self.broken[point] = (place, finishes)
            self.seconds += [(first, number, name) for number, name in enumerate(seconds, 1)]
        if not self.seconds:
            raise Problem("other", "reopening after an interrupted wipe changes nothing")
        return [name for _, _, name in self.seconds]

    def faults(self, calls, actions, points):
        for first, number, call in self.seconds:
            for action in actions:
                if applies(action, call) and (not points or first.point in points):
                    yield SecondFault(number, call, action, first)

    def run(self, fault):
        interrupted, finishes = self.broken[fault.first.point]
        with self.bench.copy(interrupted) as place:
            done = self.command(place, STATUS, fault=fault)
            if deadly(fault.action):
                if len(logged_calls(place)) >= fault.point and done.code != -signal.SIGKILL:
                    raise Problem("other", "not killed: %s" % done)
            elif done.code < 0:
                raise Problem("other", "the command crashed: %s" % done)
            if finishes and state_in(self.command(place, STATUS)) != "wiped":
                raise Problem("mixed", "the wipe was under way and is forgotten")
            self.judge_home(place, Done(1, b"", b""))

    def judge_wiped(self, place):
        """With one command for all: `wipe` asks every one at each of its points, and there are thousands of these."""
        done = self.command(place, self.template.probe[0], passcode=PASSCODES["old"])
        if done.code != WIPED:
            raise Problem("mixed", "a token of a wiped home: %s" % done)
        remains = find_remains(place, self.template)
        if remains:
            raise Problem("residue", remains)


class OrderedWipe(Wipe):
    """A signed order wipes. Its counter is on the disk first: no crash loses the order or lets it be refused."""

    def __init__(self):
        super().__init__()
        self.name = "remote-wipe"

    def start(self, bench):
        super().start(bench)
        self.original = Place(os.path.join(bench.root, "template-order"))
        subprocess.run(["cp", "-a", self.template.place.root, self.original.root], check=True)
        place, secret = self.original, {"passcode": PASSCODES["old"]}
        vault = str(uuid.UUID(bytes=vault_in(self.command.succeed(place, STATUS).document())))
        key = os.path.join(place.root, "user", "office.key")
        public = self.command.succeed(place, order_keygen(key), json_output=False).out.decode().strip()
        self.command.succeed(place, order_pin(public), **secret)
        made = self.command.succeed(place, order_create(key, vault), json_output=False).out
        with open(os.path.join(place.root, "user", "lost.order"), "wb") as stream:
            stream.write(made)
        return self

    def perform(self, place, fault=None, log=False):
        order = wipe_by_order(os.path.join(place.root, "user", "lost.order"))
        return self.command(place, order, fault=fault, log=log)

    def judge_home(self, place, done):
        super().judge_home(place, done)
        if state_in(self.command(place, STATUS)) != "wiped":
            again = self.perform(place)
            if again.code != OK:
                raise Problem("lost", "nothing was wiped, and the order is refused: %s" % again)
            self.judge_wiped(place)


def all_operations():
    def token(template, service):
        return next(key for key in template.tokens if key[0] == service)

    def many(template):
        return template.files["many chunks.bin"]

    return [
        Operation("token-put", "old", lambda t: token_put("put.example", "ada", "access"), given=b"a new token"),
        Operation("token-replace", "old", lambda t: token_put(*token(t, "replace.example")),
                  given=b"another value"),
        Operation("token-remove", "old", lambda t: token_remove(*token(t, "remove.example")[:2])),
        Operation("key-generate", "old", lambda t: key_generate("new")),
        Operation("key-rename", "old", lambda t: key_rename("other", "another")),
        Operation("key-remove", "old", lambda t: key_remove("other")),
        Operation("key-csr", "old", lambda t: key_csr("kept")),
        Operation("key-self-signed", "old", lambda t: key_self_signed("kept")),
        Operation("key-install", "old", lambda t: key_install("other", t.certificate)),
        Operation("key-import", "old", lambda t: key_import("imported", t.key_file)),
        Operation("key-rotate", "old", lambda t: key_rotate("kept")),
        Operation("key-takeover", "old", lambda t: key_install("renewed", t.renewal)),
        Operation("key-retire", "old", lambda t: key_rotate("rotated", "--retire")),
        Operation("key-cancel", "old", lambda t: key_rotate("renewed", "--cancel")),
        Operation("passcode-change", "old", lambda t: PASSCODE_CHANGE, new="new", candidates=["new", "old"],
                  store="keys"),
        Operation("passcode-set", None, lambda t: PASSCODE_SET, new="new", candidates=["new"], store="keys"),
        Operation("passcode-remove", "old", lambda t: PASSCODE_REMOVE, store="keys"),
        BackupCreate(),
        BackupRestore(),
        PolicyInstall(),
        PolicyTake("policy-take", False),
        PolicyTake("policy-retake", True),
        Reclass(),
        Rotate("rotate", ROTATE),
        Rotate("passcode-rotate", PASSCODE_ROTATE, new="new", candidates=["new", "old"]),
        Recovery("recovery-create", RECOVERY_CREATE, False),
        Recovery("recovery-replace", RECOVERY_CREATE, True),
        Recovery("recovery-use", RECOVERY_USE, True, passcode=None, new="new"),
        Recovery("recovery-remove", RECOVERY_REMOVE, True, passcode=None),
        Attempt("wrong-passcode", "wrong", 0),
        Attempt("right-passcode", "old", 1),
        Operation("file-add", "old", lambda t: file_add(t.added), store="files"),
        Operation("file-remove", "old", lambda t: file_remove(many(t)), store="files"),
        Operation("file-rewrap", "old", lambda t: file_rewrap(many(t)), store="files", may_be_unsupported=True),
        Operation("file-rewrap-all", "old", lambda t: file_rewrap(), store="files"),
        Operation("file-rename", "old", lambda t: file_rename(many(t), "another name.bin"), store="files"),
        Operation("file-reindex", "old", lambda t: FILE_REINDEX, store="files"),
        Operation("file-edit", "old", lambda t: file_view(many(t), EDIT, "--writable"), store="files"),
        Operation("file-view", "old", lambda t: file_view(many(t), "cat <\"$1\" >/dev/null"), store="files",
                  everywhere=True),
        Operation("file-export", "old", lambda t: file_export(many(t), "<root>/tmp/exported"), store="files",
                  everywhere=True),
        Init(),
        Wipe(),
        WipeTokens(),
        WipeResume(),
        OrderedWipe(),
    ]


# ---------------------------------------------------------------------------------------------------------------
# The matrix

def all_faults(operation, calls, actions, points):
    if hasattr(operation, "faults"):
        yield from operation.faults(calls, actions, points)
        return
    for point, call in enumerate(calls, 1):
        for action in actions:
            if applies(action, call) and (not points or point in points):
                yield Fault(point, call, action)


def run_operation(operation, bench, options, share):
    """One row of the table."""
    row = {"operation": operation.name, "points": 0, "actions": 0, "runs": 0, "mixed": 0, "lost": 0, "residue": 0,
           "other": 0, "skipped": 0, "failures": []}

    def fail(kind, fault, text):
        row[kind] += 1
        row["failures"].append({
            "operation": operation.name, "kind": kind, "fault": str(fault) if fault else "none",
            "action": fault.action if fault else "", "point": fault.point if fault else 0,
            "call": fault.call if fault else "", "text": text})

    started = time.monotonic()
    try:
        calls = operation.start(bench).learn()
    except Problem as problem:
        row["runs"] += 1
        fail(problem.kind, None, str(problem))
        return row
    except Exception:  # an answer that the contract does not know
        row["runs"] += 1
        fail("other", None, traceback.format_exc(limit=-3))
        return row
    if calls is None:
        row["unsupported"] = True
        return row
    faults = list(all_faults(operation, calls, options.actions, options.points))
    row["points"], row["actions"] = len(calls), len({fault.action for fault in faults})
    if share is not None:
        # If there is no time for all: kills first, and of everything a fair sample.
        random.Random("%s %s" % (options.seed, operation.name)).shuffle(faults)
        faults.sort(key=lambda fault: fault.action != "kill")

    def attempt(number, fault):
        # A few runs there are in any case: nothing passes without having been tried.
        if share is not None and number > 4 and time.monotonic() - started > share:
            return "skipped", ""
        try:
            operation.run(fault)
            return None, ""
        except Problem as problem:
            return problem.kind, str(problem)
        except Exception:  # a fault of this program, or an answer that the contract does not know
            return "other", traceback.format_exc(limit=-3)

    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        for fault, (kind, text) in zip(faults, pool.map(attempt, itertools.count(1), faults)):
            if kind == "skipped":
                row["skipped"] += 1
                continue
            row["runs"] += 1
            if kind:
                fail(kind, fault, text)
    finally:
        # When we are told to stop in the middle, the runs that have not begun never do.
        pool.shutdown(cancel_futures=True)
    row["seconds"] = round(time.monotonic() - started, 1)
    return row


COLUMNS = ("operation", "points", "actions", "runs", "mixed", "lost", "residue", "other", "skipped")


def print_row(row):
    words = ["%-16s" % row["operation"]] + ["%*s" % (len(name), row[name]) for name in COLUMNS[1:]]
    print(" ".join(words) + ("  unsupported by this command" if row.get("unsupported") else ""), flush=True)


def fast_folder():
    """A place in memory, where syncing costs nothing, when there is one."""
    with contextlib.suppress(OSError), open("/proc/mounts") as mounts:
        for line in mounts:
            _, where, kind = line.split()[:3]
            if where == "/dev/shm" and kind == "tmpfs" and os.access(where, os.W_OK):
                return where
    return tempfile.gettempdir()


def build_shim(folder):
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faultshim.c")
    result = os.path.join(folder, "faultshim.so")
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", "-o", result, source, "-ldl"], check=True)
    return result


def names(known):
    def parse(text):
        chosen = [word for word in text.split(",") if word]
        for word in chosen:
            if word not in known:
                raise argparse.ArgumentTypeError("%s is none of %s" % (word, ", ".join(known)))
        return chosen
    return parse


def numbers(text):
    chosen = set()
    for word in text.split(","):
        first, _, last = word.partition("-")
        chosen |= set(range(int(first), int(last or first) + 1))
    return chosen


def parse_options():
    operations = [operation.name for operation in all_operations()]
    parser = argparse.ArgumentParser(description="Drives coffer through every crash point.")
    parser.add_argument("--coffer", required=True, metavar="PATH", help="the command to test")
    parser.add_argument("--operations", type=names(operations), default=operations, metavar="a,b,…",
                        help=", ".join(operations))
    parser.add_argument("--actions", type=names(ACTIONS), default=list(ACTIONS), metavar="a,b,…",
                        help=", ".join(ACTIONS))
    parser.add_argument("--points", type=numbers, default=set(), metavar="3,7-9", help="only these crash points")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="end after this time with a sample")
    parser.add_argument("--seed", default="1", help="of the sample and of the content")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument("--json", metavar="FILE", help="all figures and failures")
    parser.add_argument("--strict-sync", action="store_true",
                        help="success after a failed fsync is a failure, even if nothing was lost")
    parser.add_argument("--keep", action="store_true", help="keep the homes of failed runs, and say where they are")
    parser.add_argument("--shim", metavar="FILE", help="a shim that is built already")
    options = parser.parse_args()
    options.coffer = os.path.abspath(options.coffer)
    if not os.access(options.coffer, os.X_OK):
        parser.error("%s cannot be run" % options.coffer)
    return options


def run_matrix(options, root):
    command = Command(options.coffer, os.path.abspath(options.shim) if options.shim else build_shim(root))
    bench = Bench(command, root, options.seed, options.strict_sync, options.keep)
    chosen = [operation for operation in all_operations() if operation.name in options.operations]
    end = None if options.budget is None else time.monotonic() + options.budget
    print(" ".join(["%-16s" % COLUMNS[0], *COLUMNS[1:]]), flush=True)
    rows = []
    for index, operation in enumerate(chosen):
        # What one operation leaves of its share, the later ones divide among them.
        share = None if end is None else max(0.0, (end - time.monotonic()) / (len(chosen) - index))
        rows.append(run_operation(operation, bench, options, share))
        print_row(rows[-1])
    return rows


def report(rows, options):
    failures = [failure for row in rows for failure in row.pop("failures")]
    for failure in failures[:10]:
        print("\nFAILED %(operation)s, %(fault)s: %(kind)s\n    %(text)s" % failure)
    runs = sum(row["runs"] for row in rows)
    if options.json:
        with open(options.json, "w") as stream:
            json.dump({"operations": rows, "failures": failures, "passed": runs - len(failures),
                       "failed": len(failures), "actions": options.actions, "seed": options.seed}, stream, indent=1)
            stream.write("\n")
    print("%s%d passed, %d failed" % ("\n" if failures else "", runs - len(failures), len(failures)))
    return 1 if failures or not runs else 0


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # and clean up on the way out
    root = os.path.realpath(tempfile.mkdtemp(prefix="coffer-crash-", dir=fast_folder()))
    code = 0
    try:
        code = report(run_matrix(options, root), options)
        return code
    finally:
        if not (options.keep and code):
            shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
