#!/usr/bin/env python3
"""Runs commands in disturbed weather: what has to work works, the rest fails with a typed error and loses nothing.

    disturbed_matrix.py --coffer PATH [--reduced] [--only file=F,damage=D,command=C] [--jobs 2] [--json FILE] [--list]

Every file of a home, and the home itself, is missing, empty, cut short, changed in one byte, a directory, a link, a FIFO,
of mode 000 or 0777, or of another owner; the disk is full or read-only; there is no bus, or its Secret Service is locked
or dead; limits are tight; HOME and XDG_RUNTIME_DIR are unset or elsewhere; the clock stands at 1970 or ten years ahead; the
administrator's policy or the anchor cannot be trusted, read or understood, or is gone.
In each such world one command runs on a fresh copy of a home with two users' namespaces, next to another vault, with the
keys of all four held in the kernel keyring and a view copy left by a killed viewer. `--only` takes names or patterns;
the world around the files is `file=disk,damage=full`, and so on (see --list).

Rules, by which the script itself works out what must come of a cell:

    always       ends in time, by no signal, with an exit code of the table, which fits the error's code; neither message
                 nor file holds a secret; other vaults, their keys and files outside are as before
    lock         reaches every vault that some file of the home names: its keys are gone, and it ends with 0. Where that is
                 not certain it may lock every vault of the user
    lock --all   the same for every vault of the user, whatever the home is
    wipe         the keys of the vault and its namespaces are gone, from the kernel and from every file that its user can
                 remove, and with them view copies; ends with 0 exactly if nothing is left
    wipe --user  the same for that namespace; all others stay as they are, byte for byte
    order        as wipe, if what is needed to check it is sound: home, state, device key, pinned keys, a right clock.
                 Otherwise it is carried out or refused; refused, nothing has changed
    the others   change nothing, but for what they are for. What they need being sound, they work; otherwise they may
                 fail, with a code that says what is wrong: damage is never "wiped" or "wrong passcode", and weather is
                 never damage. No failure counts as a wrong passcode

Before each run the keys are looked for and found; the commands of `control` are no coffer and must all be found out.
The last line is `N cells, N failed`; the exit code is 1 when anything failed. Python 3.9 is needed; without root, an
own user for each worker, other owners, mounts and the desktop's keyring are left out, and the script says so.
"""

import argparse
import base64
import dataclasses
import fnmatch
import json
import multiprocessing
import multiprocessing.util
import os
import resource
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
from concurrent.futures import ProcessPoolExecutor

import disturbed_world as world_of
from crash_matrix import fast_folder
from disturbed_world import CONTENT, NEW_VALUE, PASSCODE, TOKEN, USERS, VALUE, Unusable, Weather, contents, picture

# ------------------------------------------------------------------------------------------------------------------
# The contract of the command: names of errors, their exit codes, fields of documents

# Of OAuth, which no command of this matrix uses.
SERVERS = {
    "signInNeeded": 14, "sessionLost": 14, "serverUnreachable": 15, "serverRefused": 11, "serverMalformed": 7,
    "redirectRefused": 7, "issuerMismatch": 7, "stateMismatch": 7, "certificateRefused": 7, "hostRefused": 7,
}
EXITS = {
    "absent": 3, "locked": 4, "keyringLocked": 4, "noPrompter": 4, "promptDismissed": 4, "wrongPasscode": 5, "wiped": 6,
    "corrupt": 7, "notAuthentic": 7, "foreign": 7, "unsupportedVersion": 7, "rolledBack": 7, "missing": 7,
    "anchorLost": 7,
    "orderMalformed": 7, "orderTooLong": 7, "orderUnsupportedVersion": 7, "orderUnknownKey": 7, "orderBadSignature": 7,
    "orderForeign": 7,
    "keyringUnavailable": 8, "noSessionBus": 8, "noSecretService": 8, "noDefaultCollection": 8, "interrupted": 8,
    "timedOut": 9, "conflict": 10, "ambiguous": 10, "orderReplayed": 10, "refused": 11, "attemptDelayed": 11,
    "orderCounterOutOfRange": 11, "orderNotYetValid": 11, "orderExpired": 11, "tokenRevoked": 11,
    "policyInvalid": 11, "passcodeMustChange": 11, "notInitialised": 12,
    "alreadyExists": 13, "invalidInput": 64, "busy": 75, "noSpace": 1, "readOnly": 1, "permissionDenied": 1,
    "cancelled": 1, "inputOutput": 1, "outOfMemory": 1, "unsupported": 1,
    **SERVERS,
}
COMMANDS = {
    "lock": ["lock"],
    "lock-all": ["lock", "--all"],
    "wipe": ["wipe", "--yes"],
    "wipe-user": ["wipe", "--yes", "--user", "ada"],
    "order": ["wipe", "--order", "<order>"],
    "unlock": ["unlock"],
    "status": ["status"],
    "token-get": ["token", "get", *TOKEN],
    "token-put": ["token", "put", *TOKEN],
    "file-cat": ["file", "cat", "<file>"],
    "doctor": ["doctor"],
    "recovery-check": ["recovery", "check"],
}
LOCKS, WIPES = ("lock", "lock-all"), ("wipe", "wipe-user", "order")
# Classes whose keys a lock takes; the others outlast it.
STAY_OVER_LOCK = (":afterFirstUnlock", ":afterFirstUnlockThisDeviceOnly")

# ------------------------------------------------------------------------------------------------------------------
# The entries of a home, and what each command needs of them

VAULT = ["vault/" + name for name in ("device", "keybag", "attempts", "filekeys", "fileindex", "tokens")]
FOLDERS = ["home", "vault", "vault/files", "users", "users/ada", "users/ada/vault", "users/ada/vault/files"]
FILES = ["lock", "state", *VAULT, "vault/orders", "vault/recovery", "vault/viewroots", "vault/files/container",
         "vault/anchors", "vault/backup", "vault/keypairs", "vault/policy", "vault/served-index",
         *("users/ada/" + name for name in ["lock", "state", *VAULT])]
FILE_DAMAGES = ["missing", "empty", "truncated", "changed", "changed-id", "directory", "link", "fifo", "mode-000",
                "mode-0777", "owner"]
FOLDER_DAMAGES = ["missing", "empty", "file", "link", "fifo", "mode-000", "mode-0777", "owner"]

OPENING = {"state", "vault/device", "vault/keybag", "vault/orders"}
# What uses the keys asks first whether the vault is an older copy, and which rules hold.
USING = OPENING | {"vault/anchors", "vault/policy"}
NEEDS = {
    "unlock": USING | {"lock", "vault/attempts"},
    "status": OPENING | {"vault/attempts", "vault/tokens", "vault/filekeys", "vault/fileindex", "vault/files"},
    "doctor": OPENING | {"vault/attempts", "vault/tokens", "vault/filekeys", "vault/fileindex", "vault/files"},
    "token-get": USING | {"vault/tokens"},
    "token-put": USING | {"lock", "vault/tokens"},
    "recovery-check": OPENING | {"vault/recovery", "vault/policy"},
    "file-cat": USING | {"vault/filekeys", "vault/fileindex", "vault/files/container"},
    # Not to obey an order, but to know that it is one.
    "order": {"lock", "state", "vault/device", "vault/orders"},
}
# Files any of which says which vault this is.
NAMING = ("state", "vault/device", "vault/keybag", "vault/attempts", "vault/filekeys")
# What says it for certain, and the folders on the way.
TELLING = ("home", "state", "vault", "vault/device")
# The record of the anchors, and the anchor itself.
ANCHORS = {"home/vault/anchors", "outside/anchor"}
# What a command may change of a home, beside its purpose.
CHANGES = {
    # A slot of the copy of the device key that no recovery key needs is overwritten.
    "unlock": {"home/vault/attempts", "home/vault/recovery", *ANCHORS},
    "token-put": {"home/vault/tokens", *ANCHORS},
}
DAMAGED = {"corrupt", "notAuthentic", "foreign", "unsupportedVersion", "rolledBack"}
NOT_OPENED = {"permissionDenied", "refused"}
ODD_KIND = {"corrupt", "refused", "inputOutput"}
CODES = {
    "missing": DAMAGED, "empty": DAMAGED, "truncated": DAMAGED, "changed": DAMAGED, "changed-id": DAMAGED,
    "directory": ODD_KIND, "file": ODD_KIND, "fifo": ODD_KIND, "link": ODD_KIND, "mode-000": NOT_OPENED,
    "mode-0777": NOT_OPENED, "owner": NOT_OPENED,
}


def needs(command, entry):
    """Whether a command needs an entry: by name, or as a folder on the way."""
    return any(need == entry or entry == "home" or need.startswith(entry + "/") for need in NEEDS.get(command, ()))


def codes_for(entry, damage):
    if entry == "vault/policy":
        # Without the record, the vault is also one from before the policy, as its anchors say.
        return {"policyInvalid", "rolledBack"} if damage == "missing" else {"policyInvalid"}
    codes = set(CODES[damage])
    if entry in ("home", "vault") and damage in ("missing", "empty", "file", "fifo", "link"):
        codes |= {"notInitialised"} | ODD_KIND
    if entry == "home" and damage in ("missing", "empty"):
        codes = {"notInitialised"}
    if entry.startswith("vault/files") and damage in ("missing", "empty"):
        codes |= {"absent", "missing"}
    return codes


# ------------------------------------------------------------------------------------------------------------------
# The world around the files: what each weather lets fail, by command; `ANY` is every typed error of weather

ANY = set(EXITS) - set(SERVERS) - DAMAGED - {"wiped", "wrongPasscode", "notInitialised", "absent", "missing", "invalidInput",
                    "alreadyExists"}
EVERY = dict.fromkeys(COMMANDS, ANY)
KEYRING_USERS = ("order", "unlock", "status", "token-get", "token-put", "file-cat", "recovery-check")
# What obeys the administrator's policy.
POLICY_USERS = ("unlock", "token-get", "token-put", "file-cat", "recovery-check")
# Folders of policies that nobody can trust or understand, by what makes them so.
POLICIES = ("changed", "fifo", "directory", "link", "mode-000", "mode-0777", "owner", "folder-0777", "folder-file", "large")
POLICY = b'{"PasscodeMinimumLength": 1}'
# What may not open a vault that nobody can tell from an older copy.
ANCHOR_LOST = dict.fromkeys(("unlock", "token-get", "file-cat"), {"anchorLost"})
MEGABYTE = 1 << 20
LIMITS = {
    "data-90M": (resource.RLIMIT_DATA, 90 * MEGABYTE), "data-40M": (resource.RLIMIT_DATA, 40 * MEGABYTE),
    "data-16M": (resource.RLIMIT_DATA, 16 * MEGABYTE), "memory-100000K": (resource.RLIMIT_AS, 100000 << 10),
    "memory-150000K": (resource.RLIMIT_AS, 150000 << 10), "memory-200000K": (resource.RLIMIT_AS, 200000 << 10),
    "memory-250000K": (resource.RLIMIT_AS, 250000 << 10), "memory-1000M": (resource.RLIMIT_AS, 1000 * MEGABYTE),
    "files-16": (resource.RLIMIT_NOFILE, 16), "files-5": (resource.RLIMIT_NOFILE, 5),
    "file-size-0": (resource.RLIMIT_FSIZE, 0), "processes-1": (resource.RLIMIT_NPROC, 1),
}
AROUND = {
    ("disk", "full"): {"token-put": {"noSpace"}},
    ("disk", "read-only"): {command: {"readOnly"} for command in ("unlock", "token-put", *WIPES)},
    ("proc", "none"): EVERY,
    ("HOME", "unset"): {}, ("HOME", "elsewhere"): {}, ("HOME", "missing"): {},
    ("HOME", "nameless"): {command: {"invalidInput"} for command in COMMANDS if command != "lock-all"},
    ("XDG_RUNTIME_DIR", "unset"): {}, ("XDG_RUNTIME_DIR", "elsewhere"): {}, ("XDG_RUNTIME_DIR", "missing"): {},
    ("clock", "1970"): {"order": {"orderNotYetValid"}},
    ("clock", "ten-years-ahead"): {"order": {"orderExpired"}},
    ("bus", "none"): dict.fromkeys(KEYRING_USERS, {"noSessionBus"}),
    ("bus", "no-service"): dict.fromkeys(KEYRING_USERS, {"noSecretService"}),
    ("bus", "locked"): dict.fromkeys(KEYRING_USERS, {"keyringLocked", "noPrompter"}),
    ("bus", "dead"): dict.fromkeys(KEYRING_USERS, {"timedOut", "keyringUnavailable"}),
    ("bus", "sound"): {}, ("nothing", "sound"): {},
    ("policy", "sound"): {},
    **{("policy", damage): dict.fromkeys(POLICY_USERS, {"policyInvalid"}) for damage in POLICIES},
    ("anchor", "missing"): ANCHOR_LOST, ("anchor", "changed"): ANCHOR_LOST, ("anchor", "fifo"): ANCHOR_LOST,
    ("anchor", "directory"): ANCHOR_LOST, ("anchor", "owner"): ANCHOR_LOST, ("anchor", "other"): ANCHOR_LOST,
    **{("limit", name): EVERY for name in LIMITS},
    ("limit", "memory-1000M"): {}, ("limit", "files-16"): {},
}
NEEDS_ROOT = {("disk", "full"), ("disk", "read-only"), ("proc", "none"), ("anchor", "owner"),
              *(pair for pair in AROUND if pair[0] == "policy")}


@dataclasses.dataclass(frozen=True)
class Cell:
    file: str
    damage: str
    command: str

    @property
    def is_around(self):
        return (self.file, self.damage) in AROUND

    @property
    def keyring(self):
        return "secret-service" if self.file == "bus" else "file"

    def __str__(self):
        return "file=%s,damage=%s,command=%s" % (self.file, self.damage, self.command)


def all_pairs():
    for entry in FOLDERS + FILES:
        for damage in FOLDER_DAMAGES if entry in FOLDERS else FILE_DAMAGES:
            # A lock is an empty file.
            if not (entry.endswith("lock") and damage in ("empty", "truncated", "changed", "changed-id")):
                yield entry, damage
    yield from AROUND


def all_cells(reduced):
    """Reduced: every damage with `wipe`, of the vault itself with `lock`, and with one of the others in turn; and the world
    around the files with all of them, but for those that wait long."""
    others = [command for command in COMMANDS if command not in ("lock", "wipe")]
    for number, pair in enumerate(all_pairs()):
        chosen = list(COMMANDS)
        if reduced and pair not in AROUND:
            chosen = ["lock"] * (not pair[0].startswith("users")) + ["wipe", others[number % len(others)]]
        elif reduced and pair == ("bus", "dead"):
            chosen = ["lock", "wipe", "unlock"]
        for command in chosen:
            yield Cell(*pair, command)
    yield QUOTA


# ------------------------------------------------------------------------------------------------------------------
# Disturbing

class Failed(Exception):
    pass


def entry_path(world, entry):
    """Where an entry with the names of this worker's home is, from the folder of the world."""
    if entry == "home":
        return entry
    if entry == "vault/files/container":
        return "home/vault/files/%s.coffer" % world.file
    if entry.startswith("users/ada"):
        return world.places["ada"] + entry[len("users/ada"):]
    return "home/" + entry


def damage_entry(world, cell):
    path = os.path.join(world.here, entry_path(world, cell.file))
    status, damage = os.lstat(path), cell.damage
    is_folder = stat.S_ISDIR(status.st_mode)
    if damage in ("truncated", "changed", "changed-id", "empty") and not is_folder:
        with open(path, "rb") as stream:
            content = bytearray(stream.read())
        name = world.vaults["ada" if cell.file.startswith("users/ada") else "home"].bytes
        at = len(content) // 2
        if damage == "changed-id":
            at = content.find(name)
            if at < 0:
                raise Unusable("no vault id in it")
        if damage in ("empty", "truncated"):
            del content[0 if damage == "empty" else at:]
        else:
            content[at] ^= 0x20
        with open(path, "r+b") as stream:
            stream.write(content)
            stream.truncate()
        return
    if damage == "mode-000":
        return os.chmod(path, 0)
    if damage == "mode-0777":
        return os.chmod(path, 0o777)
    if damage == "owner":
        if world.user is None:
            raise Unusable("root is needed")
        return os.chown(path, world_of.NOBODY, world_of.NOBODY)
    if damage == "link":
        target = os.path.join(world.here, "outside", "moved")
        os.rename(path, target)
        os.symlink(target, path)
        return own(world, path)
    world_of.remove_tree(path)
    if damage == "missing":
        return
    if damage == "fifo":
        os.mkfifo(path, 0o600)
    elif damage == "file" or damage == "empty" and not is_folder:
        with open(path, "wb") as stream:
            stream.write(b"no folder\n")
        os.chmod(path, 0o600)
    else:
        os.mkdir(path, 0o700)
    own(world, path)


def own(world, path):
    if world.user is not None:
        os.lchown(path, world.user, world.user)


def damage_policy(world, damage):
    """A folder for /etc with a policy in it, or with what should be one."""
    etc = world.make_etc()
    folder = os.path.join(etc, "coffer", "policy.d")
    path = os.path.join(folder, "10.json")
    with open(path, "wb") as stream:
        stream.write(POLICY[:-1] if damage == "changed" else POLICY + b" " * (64 * MEGABYTE if damage == "large" else 0))
    os.chmod(path, {"mode-000": 0, "mode-0777": 0o777}.get(damage, 0o644))
    if damage == "owner":
        os.chown(path, world.user, world.user)
    elif damage == "link":
        os.rename(path, os.path.join(etc, "moved.json"))
        os.symlink("../../moved.json", path)
    elif damage in ("fifo", "directory"):
        os.unlink(path)
        os.mkfifo(path) if damage == "fifo" else os.mkdir(path)
    elif damage == "folder-0777":
        os.chmod(folder, 0o777)
    elif damage == "folder-file":
        world_of.remove_tree(folder)
        with open(folder, "wb") as stream:
            stream.write(POLICY)
    return etc


def damage_anchor(world, damage):
    path = os.path.join(world.here, "outside", "anchor")
    if damage == "changed":
        with open(path, "r+b") as stream:
            stream.write(b"no anchor" * 64)
    elif damage == "other":
        os.replace(path + "-of-other", path)
    elif damage == "owner":
        os.chown(path, world_of.NOBODY, world_of.NOBODY)
    else:
        os.unlink(path)
        if damage == "fifo":
            os.mkfifo(path, 0o600)
        elif damage == "directory":
            os.mkdir(path, 0o700)
        if damage != "missing":
            own(world, path)


def disturb(world, cell):
    """Makes the world of a cell; what surrounds the run is returned."""
    weather = Weather()
    if cell.keyring == "secret-service":
        weather.environment["DBUS_SESSION_BUS_ADDRESS"] = None if cell.damage == "none" else world.bus_address
        if cell.damage != "none":
            world.start_desktop(unlocked=cell.damage in ("sound", "dead"), keyring=cell.damage != "no-service")
        if cell.damage == "dead":
            world.freeze_keyring()
    elif not cell.is_around:
        damage_entry(world, cell)
    elif cell.file in ("HOME", "XDG_RUNTIME_DIR"):
        where = {"unset": None, "nameless": None, "elsewhere": os.path.join(world.here, "elsewhere"),
                 "missing": os.path.join(world.here, "not-there")}
        weather.environment[cell.file] = where[cell.damage]
        weather.without_home_option = cell.damage == "nameless"
    elif cell.file == "clock":
        if "wallclock" not in world.libraries:
            raise Unusable("no C compiler")
        weather.environment["LD_PRELOAD"] = world.libraries["wallclock"]
        shift = {"1970": ("WALL_TIME", "1000"), "ten-years-ahead": ("WALL_SHIFT", "315576000")}
        name, value = shift[cell.damage]
        weather.environment[name] = value
    elif cell.file == "limit":
        kind, value = LIMITS[cell.damage]
        weather.limits[kind] = value
    elif cell.file == "proc":
        weather.without_proc = True
    elif cell.file == "policy":
        weather.etc = damage_policy(world, cell.damage)
    elif cell.file == "anchor":
        damage_anchor(world, cell.damage)
    elif cell.file == "disk":
        world.put_on_disk(full=cell.damage == "full")
    return weather


# ------------------------------------------------------------------------------------------------------------------
# Looking

def names_vault(home, place, vault_id):
    """Whether a file of a home, or of a namespace at `place` in it, names its vault, for who follows no link in there."""
    home = os.path.realpath(home)
    for name in NAMING:
        path = os.path.join(home, place, name)
        parts = os.path.relpath(path, home).split("/")
        if any(os.path.islink(os.path.join(home, *parts[:length + 1])) for length in range(len(parts))):
            continue
        try:
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb") as stream:
                    if vault_id in stream.read():
                        return True
        except OSError:
            continue
    return False


def can_remove(path, root, user):
    """Whether a user can remove a file below `root` as it stands: every folder on the way lets it in and takes changes."""
    folder = os.path.dirname(path)
    while len(folder) >= len(root):
        status = os.lstat(folder)
        needed = 0o300 if status.st_uid == user else 0o003
        if not stat.S_ISDIR(status.st_mode) or status.st_mode & needed != needed:
            return False
        folder = os.path.dirname(folder)
    return True


@dataclasses.dataclass
class Sight:
    """All that can be seen of a world."""
    files: dict
    keys: dict
    listed: set

    @staticmethod
    def of(world):
        keys, listed = world.held()
        return Sight(picture(world.here), keys, listed)

    def keys_of(self, world, vault, dropping=False):
        """Names of the keys of a vault that the kernel still has; `dropping`: those that a lock takes."""
        prefix = world.prefix(vault)
        found = {name for name in self.keys if name.startswith(prefix)}
        found |= {name for name in self.listed if name.startswith(prefix)}
        return {name for name in found if not (dropping and name.endswith(STAY_OVER_LOCK))}

    def pieces_of(self, world, vault):
        """Files with a piece of a key of a vault."""
        return [path for path, content in contents(self.files).items()
                if any(piece in content for piece in world.pieces[vault])]


class Trial:
    """One cell: the run, and the verdict."""

    def __init__(self, world, cell, program=None, limit=world_of.CELL_LIMIT):
        self.world, self.cell, self.program, self.limit = world, cell, program, limit

    def run(self):
        world, cell = self.world, self.cell
        world.fresh(("ada", "bob", "other") if cell.command == "unlock" else ("home", "ada", "bob", "other"))
        self.damaged_path = None if cell.is_around else entry_path(world, cell.file)
        self.sound = picture(world.here).get(self.damaged_path)
        self.weather = disturb(world, cell)
        self.before = Sight.of(world)
        self.check_control()
        self.named = {vault: world.as_user(names_vault, world.home, os.path.relpath(place, "home"),
                                           world.vaults[vault].bytes)
                      for vault, place in [("home", "home"), *world.places.items()]}
        self.done = self.execute(COMMANDS[cell.command])
        self.after = Sight.of(world)
        self.judge()

    def execute(self, arguments):
        words = {"<order>": self.world.order, "<file>": self.world.file}
        command = self.cell.command
        return self.world.run(
            [words.get(word, word) for word in arguments], weather=self.weather, program=self.program,
            passcode=PASSCODE if command == "unlock" else None, given=NEW_VALUE if command == "token-put" else b"",
            recovery=self.world.recovery if command == "recovery-check" else None, limit=self.limit)

    def check_control(self):
        """What is to be gone afterwards can be found before."""
        world, cell = self.world, self.cell
        for vault in world.vaults:
            held = self.before.keys_of(world, vault)
            if bool(held) == (cell.command == "unlock" and vault == "home"):
                raise Failed("control: the keys of %s are %s" % (vault, sorted(held)))
        is_whole = cell.is_around and cell.file != "disk"
        if is_whole and not all(self.before.pieces_of(world, vault) for vault in world.vaults):
            raise Failed("control: the search finds no piece of a key")
        if is_whole and world.view and world.view not in self.before.files:
            raise Failed("control: there is no view copy")

    # Verdicts ----------------------------------------------------------------------------------------------------

    def judge(self):
        self.judge_end()
        self.judge_secrets()
        self.judge_elsewhere()
        if self.cell.command in LOCKS:
            self.judge_lock()
        elif self.cell.command in WIPES:
            self.judge_wipe()
        else:
            self.judge_harmless()

    def judge_end(self):
        done = self.done
        if done.code is None:
            raise Failed("no end after %d s" % self.limit)
        if done.code < 0:
            raise Failed("ended by signal %s" % signal.Signals(-done.code).name)
        if done.code == 0:
            return
        if done.code == 127 and b"error while loading shared libraries" in done.err:
            raise Unusable("the loader cannot even start the program")
        if done.error is None and done.document is None:
            raise Failed("%s, without a document that says why" % done)
        if done.error is not None and EXITS.get(done.error) != done.code:
            raise Failed("%s with the code %s" % (done, done.error))
        if done.code not in EXITS.values():
            raise Failed("%s is none of the table" % done)

    def judge_secrets(self):
        wanted = self.cell.command in ("token-get", "file-cat") and self.done.code == 0
        for name, text in self.world.secrets():
            if text in self.done.err or text in self.done.out and not wanted:
                raise Failed("the output shows %s" % name)
            for path, content in contents(self.after.files).items():
                if text in content and path != self.world.view:
                    raise Failed("%s holds %s" % (path, name))

    def judge_elsewhere(self):
        """Another vault, its keys, and files that are not the home's."""
        world, before, after = self.world, self.before, self.after
        # An order's counter is a change, too.
        raised = "outside/anchor" if self.cell.command in ("order", *CHANGES) else None
        self.require_same(lambda path: path.split("/")[0] in ("other", "outside", "elsewhere")
                          and not path.startswith("outside/moved") and path != raised)
        if self.cell.command not in LOCKS and before.keys_of(world, "other") != after.keys_of(world, "other"):
            raise Failed("keys of another vault are gone")

    def require_same(self, chosen):
        before, after = self.before.files, self.after.files
        different = [path for path in sorted(set(before) | set(after))
                     if chosen(path) and before.get(path) != after.get(path)]
        if different:
            path = different[0]
            how = "appeared" if path not in before else "is gone" if path not in after else "is changed"
            raise Failed("%s: %s %s%s" % (self.done, path, how,
                                          " and %d more" % (len(different) - 1) if len(different) > 1 else ""))

    def is_desktop(self, path):
        return self.cell.file == "bus" and path.split("/")[0] in ("user", "run")

    def is_view(self, path):
        return path == "run/coffer" or path.startswith("run/coffer/")

    def require_untouched(self, allowed=()):
        """Nothing of the home has changed but these files; any command may remove a dead viewer's copy, or try to."""
        def watched(path):
            if path == self.damaged_path and self.after.files.get(path) == self.sound:
                return False  # a record of which one half was damaged, made whole from the other
            if self.is_desktop(path) or self.is_view(path):
                return False
            return path not in allowed and not (path == "home/lock" and path not in self.before.files)
        self.require_same(watched)

    def require_code(self, codes, why):
        if self.done.error not in codes:
            raise Failed("%s with the code %s instead of %s: %s" % (
                self.done, self.done.error, ", ".join(sorted(codes)) or "0", why))

    def judge_lock(self):
        world, after = self.world, self.after
        vaults = ["home"] if self.cell.command == "lock" else list(world.vaults)
        nameless = (self.cell.file, self.cell.damage) == ("HOME", "nameless")
        # Where a home does not say for certain which vault it has, or its files name several, all may be locked:
        # that loses nothing.
        is_doubtful = nameless or self.cell.file in TELLING or self.cell.damage == "changed-id"
        may_lock = list(world.vaults) if is_doubtful else vaults
        reached = self.cell.command == "lock-all" or self.named["home"] and not nameless
        left = set().union(*(after.keys_of(world, vault, dropping=True) for vault in vaults))
        allowed = self.allowed_codes()
        if left and reached and not (allowed and self.done.error in allowed):
            raise Failed("%s: keys are still held: %s" % (self.done, ", ".join(sorted(left))))
        if left and self.done.code == 0:
            raise Failed("ends with 0, and keys are still held: %s" % ", ".join(sorted(left)))
        # A home that is not there is a mistyped one, too: everything is locked, and the code says so.
        is_gone = (self.cell.command == "lock" and self.cell.file == "home" and self.cell.damage in ("missing", "link")
                   and self.done.error == "notInitialised")
        if not left and self.done.code != 0 and not is_gone:
            raise Failed("all keys are gone, and it fails: %s" % self.done)
        for vault in world.vaults:
            kept = {name for name in self.before.keys_of(world, vault)
                    if vault not in may_lock or name.endswith(STAY_OVER_LOCK)}
            if kept - set(after.keys):
                raise Failed("keys are gone that a lock of %s leaves" % ", ".join(vaults))
        self.require_untouched()

    def allowed_codes(self):
        """Codes that the weather excuses."""
        return AROUND.get((self.cell.file, self.cell.damage), {}).get(self.cell.command)

    def judge_wipe(self):
        world, cell, done = self.world, self.cell, self.done
        targets = ["ada"] if cell.command == "wipe-user" else ["home", *world.places]
        if cell.command == "order" and needs("order", cell.file) or self.allowed_codes():
            if done.code != 0 and self.is_unchanged():
                if cell.is_around:
                    self.require_code(self.allowed_codes(), "in this weather")
                return
            if cell.is_around and self.allowed_codes() != ANY and cell.damage != "read-only":
                raise Failed("%s: something changed, and it was not to be carried out" % done)
        left = [name for vault in targets for name in self.left_of(vault)]
        if done.code != 0 and self.allowed_codes() and done.error in self.allowed_codes():
            return self.judge_spared(targets)
        could = [what for what, can in left if can]
        if could:
            raise Failed("%s: still there: %s" % (done, ", ".join(could[:3])))
        if left and done.code == 0:
            raise Failed("ends with 0, and there is still %s" % left[0][0])
        if not left and done.code != 0 and any(self.before.pieces_of(world, vault) for vault in targets):
            raise Failed("all is gone, and it fails: %s" % done)
        self.judge_spared(targets)

    def is_unchanged(self):
        try:
            self.require_untouched()
        except Failed:
            return False
        return self.before.keys == self.after.keys

    def left_of(self, vault):
        """What is left of a vault after a wipe, each with whether it could have been reached: keys that the kernel holds,
        files with pieces of keys anywhere, the vault's own folder, and its view copies."""
        world, cell = self.world, self.cell
        place = "home" if vault == "home" else world.places[vault]
        named = self.named[vault] and (self.named["home"] or vault == "home") and cell.damage != "nameless"
        for name in sorted(self.after.keys_of(world, vault)) if named else ():
            yield name, True
        user = os.geteuid() if world.user is None else world.user
        remains = self.after.pieces_of(world, vault)
        remains += [path for path in self.after.files
                    if path.startswith(place + "/vault") and path not in remains]
        for path in remains:
            can = named and stat.S_ISREG(self.after.files[path][0]) and path.startswith(place + "/") and cell.damage != "read-only" and can_remove(
                os.path.join(world.here, path), world.home, user)
            if can or not (cell.damage == "link" and self.tells_of("link")):
                yield path, can
        if vault == "home" and named and world.view in self.after.files and not self.tells_of(world.view.split("/")[0]):
            yield "the view copy", cell.damage != "read-only"

    def tells_of(self, word):
        """Whether the receipt says what it could not look at, or prove."""
        return word in json.dumps((self.done.document or {}).get("unproved", ""))

    def judge_spared(self, targets):
        world = self.world
        if targets == ["ada"]:
            place = world.places["ada"]
            self.require_untouched_but(place)
        for vault in set(world.vaults) - set(targets):
            if self.before.keys_of(world, vault) != self.after.keys_of(world, vault):
                raise Failed("keys of %s are gone" % vault)

    def require_untouched_but(self, place):
        """Outside of `place`. A folder of mode 000 may have been opened to get there."""
        opened = self.damaged_path if self.cell.damage == "mode-000" else place
        moved = "outside/moved" if self.cell.damage == "link" else place
        self.require_same(lambda path: not (
            path in (place, moved, opened, "home/lock") or path.startswith((place + "/", moved + "/"))
            or self.is_view(path) or self.is_desktop(path)))

    def judge_harmless(self):
        world, cell, done = self.world, self.cell, self.done
        allowed = self.allowed_codes()
        if not cell.is_around and needs(cell.command, cell.file):
            allowed = codes_for(cell.file, cell.damage)
        if done.code != 0:
            self.require_code(allowed or set(), "it changes nothing that it needs" if not allowed else "so says the rule")
            if cell.command == "unlock" and self.after.keys_of(world, "home"):
                raise Failed("%s, and keys are held" % done)
        else:
            self.judge_result()
        changes = {path for path in CHANGES.get(cell.command, ()) if done.code == 0 or path.endswith(("attempts", "anchors"))}
        if cell.file == "policy" and cell.command == "unlock" and done.code == 0:
            changes.add("home/vault/policy")
        if (cell.file, cell.damage) == ("home", "link"):
            changes = {path.replace("home", "outside/moved", 1) for path in changes}
        if (done.document or {}).get("waiting"):
            changes |= {path for path in self.after.files if path.startswith("home/vault/inbox")}
        self.require_untouched(changes)
        if cell.command != "unlock" and self.before.keys != self.after.keys:
            raise Failed("%s: the kernel's keys are others than before" % done)
        if cell.command == "unlock" and cell.file != "vault/attempts":
            self.judge_attempts()

    def judge_result(self):
        """A success is one."""
        command, document = self.cell.command, self.done.document
        if document is None:
            raise Failed("ends with 0 and prints no document")
        if command == "token-get" and document.get("valueBase64") != base64.b64encode(VALUE).decode():
            raise Failed("another value")
        if command == "file-cat" and document.get("contentBase64") != base64.b64encode(CONTENT).decode():
            raise Failed("another content")
        # Without /proc the boot in which the keys were held is unknown: the vault counts as locked. So does one that
        # cannot be told from an older copy, or whose administrator's rules are not known.
        uncertain = ("proc", "limit", "anchor", "policy", "vault/anchors", "vault/attempts", "vault/policy")
        if self.cell.file in uncertain and self.cell.damage != "sound" and (
                document.get("state") == "locked" or document.get("waiting")):
            return
        if command == "status" and document.get("state") not in ("unlocked", "uninitialised"):
            raise Failed("the status of the unlocked home is %s" % document.get("state"))
        if command == "recovery-check" and document.get("opensWithoutDeviceKey") is not True:
            raise Failed("the recovery key opens less")
        if command == "doctor" and not document.get("checks"):
            raise Failed("no check")
        if command == "unlock" and not self.after.keys_of(self.world, "home", dropping=True):
            raise Failed("ends with 0, and no keys are held")
        if command == "token-put":
            got = self.execute(COMMANDS["token-get"])
            if (got.document or {}).get("valueBase64") != base64.b64encode(NEW_VALUE).decode():
                raise Failed("stored, and then: %s" % got)

    def judge_attempts(self):
        """In a sound home, with the counter as this run left it, no attempt is missing."""
        path = "home/vault/attempts"
        entry = self.after.files.get(path)
        if entry is None or entry == self.before.files.get(path):
            return
        self.world.fresh()
        with open(os.path.join(self.world.here, path), "r+b") as stream:
            stream.write(entry[3])
        weather = Weather()
        if self.cell.keyring == "secret-service":
            self.world.start_desktop(unlocked=True)
            weather.environment["DBUS_SESSION_BUS_ADDRESS"] = self.world.bus_address
        left = (self.world.run(["status"], weather=weather).document or {}).get("attemptsLeft")
        if left != 10:
            raise Failed("%s, and then %s attempts are left" % (self.done, left))


# ------------------------------------------------------------------------------------------------------------------
# Running

WORKER = {}
BAD = ("failed", "broken")


def start_worker(coffer, root, users, numbers, libraries):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    number = numbers.get()
    WORKER["world"] = world_of.World(coffer, root, number, users + world_of.USERS_OF_WORKER * number if users else None, libraries)
    WORKER["made"] = {}
    multiprocessing.util.Finalize(None, leave, exitpriority=10)


def leave():
    """Takes the keys of the last cell back."""
    world = WORKER["world"]
    world.clear()
    world.as_user(world_of.plant_keys, {})


def world_for(keyring):
    """The worker's world with the template for a kind of keyring."""
    world, made = WORKER["world"], WORKER["made"]
    if keyring not in made:
        made[keyring] = world.make_template(keyring)
        check_covered(world)
    world.use_template(made[keyring])
    return world


def check_covered(world):
    """The matrix knows every entry of the home."""
    known = {entry_path(world, entry) for entry in FOLDERS + FILES}
    for path in picture(world.template):
        if path.startswith(("home/users/", "home/keyring-")) and not path.startswith(world.places["ada"]):
            continue
        if path.split("/")[0] == "home" and path not in known:
            raise RuntimeError("the matrix does not know %s: add it to FILES" % path)


QUOTA = Cell("nothing", "repeated", "lock")


def judge_quota(world):
    """Unlocking and locking again and again uses up nothing: the kernel limits what keys a user may have."""
    if world.user is None:
        raise Unusable("root is needed")

    def round_trip(times, wanted=0):
        for _ in range(times):
            world.succeed(["unlock"], passcode=PASSCODE)
            world.succeed(["lock"])
        # The kernel's collector gives back what is gone when it comes to it.
        end = time.monotonic() + world_of.CELL_LIMIT
        while time.monotonic() < end and (
                world.as_user(look_for_droppable) or world_of.quota_of(world.user) > wanted > 0):
            time.sleep(0.01)
        return world_of.quota_of(world.user)

    world.fresh(())
    before = round_trip(1)
    after = round_trip(20, before)
    if after > before:
        raise Failed("20 times unlocked and locked, and %d bytes of the user's quota of keys are used up" % (
            after - before))


def look_for_droppable():
    return [name for name in world_of.listed_keys() if not name.endswith(STAY_OVER_LOCK)]


def run_cell(cell, program=None, limit=world_of.CELL_LIMIT):
    """The cell, what became of it, and how long it took: `passed`, `failed`, `skipped`, or `broken`, when it was the matrix
    that failed."""
    started = time.monotonic()
    try:
        if WORKER["world"].user is None and ((cell.file, cell.damage) in NEEDS_ROOT or cell.file == "bus"):
            raise Unusable("root is needed")
        world = world_for(cell.keyring)
        try:
            if cell == QUOTA:
                judge_quota(world)
            else:
                Trial(world, cell, program, limit).run()
            verdict, text = "passed", ""
        finally:
            world.clear()
    except Failed as problem:
        verdict, text = "failed", str(problem)
    except Unusable as problem:
        verdict, text = "skipped", str(problem)
    except Exception:  # a fault of this program, or an answer that the contract does not know
        verdict, text = "broken", traceback.format_exc(limit=-4)
    return cell, verdict, text, time.monotonic() - started


# Programs in the place of the command: what each does wrong, and a cell that must notice.
CONTROLS = [
    ("does nothing, ends with 0", "exit 0", ("lock", "wipe", "wipe-user", "order", "status", "token-get", "unlock")),
    ("does nothing, fails", "echo '{\"error\":{\"code\":\"corrupt\"}}'; exit 7", ("lock", "wipe", "doctor", "file-cat")),
    ("fails without a word", "exit 1", ("lock", "status")),
    ("is killed", "kill -9 $$", ("lock", "status")),
    ("does not end", "exec sleep 60", ("status",)),
    ("erases the home", "rm -rf \"$HOME/../home/vault\"; echo '{\"error\":{\"code\":\"corrupt\"}}'; exit 7", ("status",)),
    ("shows the passcode", "echo %s >&2; exit 0" % PASSCODE.decode(), ("lock",)),
    ("leaves plaintext", "echo '%s' >\"$TMPDIR/left\"; exit 0" % VALUE.decode(), ("lock",)),
    ("erases another vault", "rm -rf \"$HOME/../other\"; exit 0", ("wipe",)),
]


def run_control(script, command):
    """Whether the matrix notices a program that is no coffer."""
    world = WORKER["world"]
    program = os.path.join(world.folder, "control")
    with open(program, "w") as stream:
        stream.write("#!/bin/sh\n%s\n" % script)
    os.chmod(program, 0o755)
    _, verdict, text, _ = run_cell(Cell("nothing", "sound", command), program, limit=2)
    return verdict == "failed", text


def chosen_by(words):
    """Whether a cell has the names or patterns of --only; of a file also the last part of its name."""
    def chosen(cell):
        for field, pattern in words.items():
            value = getattr(cell, field)
            if not any(fnmatch.fnmatchcase(name, pattern) for name in (value, value.rsplit("/", 1)[-1])):
                return False
        return True
    return chosen


def only(text):
    words = dict(word.partition("=")[::2] for word in text.split(","))
    if set(words) - {"file", "damage", "command"}:
        raise argparse.ArgumentTypeError("say file=, damage= and command=")
    return words


def parse_options():
    parser = argparse.ArgumentParser(description="Runs commands in disturbed weather.")
    parser.add_argument("--coffer", required=True, metavar="PATH", help="the command to test")
    parser.add_argument("--reduced", action="store_true", help="a selection that takes under three minutes")
    parser.add_argument("--only", type=only, default={}, metavar="file=F,damage=D,command=C", help="names or patterns")
    parser.add_argument("--jobs", type=int, default=2, help="cells at the same time")
    parser.add_argument("--json", metavar="FILE", help="every cell and what became of it")
    parser.add_argument("--list", action="store_true", help="print the cells, and run none")
    options = parser.parse_args()
    options.coffer = os.path.abspath(options.coffer)
    if not os.access(options.coffer, os.X_OK):
        parser.error("%s cannot be run" % options.coffer)
    return options


def own_users():
    """The first of many numbers of users that nobody else has; 0 without root."""
    first = 100_000 + os.getpid() % 10_000 * 1000
    with open("/proc/self/uid_map") as stream:
        spans = [tuple(map(int, line.split())) for line in stream]
    is_mapped = any(start <= first and first + 1000 <= start + count for start, _, count in spans)
    return first if os.geteuid() == 0 and is_mapped else 0


def run_matrix(options, root, cells):
    users = own_users()
    jobs = options.jobs if users else 1
    if not users:
        print("no root: one user, no other owners, no mounts, no desktop")
    numbers = multiprocessing.get_context("fork").Queue()
    for number in range(jobs):
        numbers.put(number)
    results, missed = [], []
    with ProcessPoolExecutor(
            jobs, multiprocessing.get_context("fork"), start_worker,
            (options.coffer, root, users, numbers, world_of.build_libraries(root))) as pool:
        controls = [(name, command, pool.submit(run_control, script, command))
                    for name, script, commands in CONTROLS for command in commands]
        for name, command, future in controls:
            noticed, text = future.result()
            if not noticed:
                missed.append("control: a program that %s is not noticed by %s%s" % (name, command, text and ": " + text))
        print("control: %d faults, %d not noticed" % (len(controls), len(missed)), flush=True)
        for result in pool.map(run_cell, cells):
            results.append(result)
            if result[1] in BAD:
                print("FAILED %s: %s" % (result[0], result[2]), flush=True)
    return results, missed


def report(options, results, missed):
    failed = [result for result in results if result[1] in BAD]
    skipped = [result for result in results if result[1] == "skipped"]
    for text in missed:
        print("FAILED " + text)
    for cell, _, _, _ in failed[:20]:
        print("to repeat: python3 Tests/Faults/disturbed_matrix.py --coffer %s --only %s" % (options.coffer, cell))
    for text in sorted({text for _, _, text, _ in skipped}):
        print("skipped %d: %s" % (sum(result[2] == text for result in skipped), text))
    if options.json:
        with open(options.json, "w") as stream:
            json.dump({"cells": [{"cell": str(cell), "verdict": verdict, "text": text, "seconds": round(seconds, 2)}
                                 for cell, verdict, text, seconds in results], "missed": missed}, stream, indent=1)
    run = len(results) - len(skipped)
    print("%d cells, %d failed" % (run, len(failed) + len(missed)))
    return 1 if failed or missed or not run else 0


def main():
    options = parse_options()
    cells = list(filter(chosen_by(options.only), all_cells(options.reduced and not options.only)))
    if options.list:
        print("\n".join(map(str, cells)))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # and clean up on the way out
    root = os.path.realpath(tempfile.mkdtemp(prefix="coffer-disturbed-", dir=fast_folder()))
    os.chmod(root, 0o711)
    try:
        return report(options, *run_matrix(options, root, cells))
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
