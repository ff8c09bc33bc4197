"""What disturbed_matrix.py disturbs: a home that is put back for every cell, its keys in the kernel keyring, the
user that it belongs to, and the weather around it. Run disturbed_matrix.py; this is its lower half.

Every worker has a user of its own where root runs this (the kernel's user keyring, RLIMIT_NPROC and file modes go by
user, and root would get past them) and a mount namespace of its own, so that nothing stays mounted.
"""

import base64
import contextlib
import ctypes
import dataclasses
import errno
import hashlib
import hmac
import json
import os
import platform
import pickle
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time

from crash_matrix import INIT as CHEAP_INIT, disguises
from guess_schedules import build
from wipe_power_cut import KEYS as KEY_PIECES

PASSCODE = b"canary-passcode-7731"
USERS = {"ada": b"canary-of-ada-5120", "bob": b"canary-of-bob-8346"}
VALUE = b"canary token value 2c71e08d"
NEW_VALUE = b"canary token value 9be4410a, put later"
VOLATILE = b"canary volatile value 66d0b3f2"
CONTENT = b"canary content of a file 41ff07aa\n" * 40
TOKEN = ["service.example", "ada"]
KEYRING_PASSWORD = b"password of the desktop's keyring"
NAMESPACE_LABEL = b"coffer/user-namespace/v1"
# Nobody has its identity.
BACKUP_RECIPIENT = "age1x3pc4wukzx9xl3dumlgajml8sd4yqqu7fwd3w0sqw8a3ljkqlycsgrn3ks"
DAY = 86400
CELL_LIMIT = 30
USERS_OF_WORKER, CELLS_OF_USER = 32, 100
NOBODY = 65534

BUS = """<busconfig><type>session</type><listen>%s</listen><policy context="default"><allow send_destination="*"
eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>
"""

libc = ctypes.CDLL(None, use_errno=True)
CALLS = {"x86_64": (248, 250), "aarch64": (217, 219)}
USER_KEYRING = -4
READ, DESCRIBE, UNLINK, SET_PERMISSION = 11, 6, 9, 5
NEW_MOUNTS, BIND, READ_ONLY, REMOUNT, PRIVATE, RECURSIVE = 0x20000, 0x1000, 1, 32, 1 << 18, 0x4000


class Unusable(Exception):
    """What the cell needs is not to be had on this machine."""


def check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))
    return result


def mount(source, target, kind, flags, data=""):
    check(libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()),
          "mount " + target)


# ------------------------------------------------------------------------------------------------------------------
# The kernel keyring of the user that a process belongs to

def keyctl(*arguments):
    words = [word if isinstance(word, (bytes, ctypes.Array)) else ctypes.c_long(word) for word in arguments]
    return libc.syscall(ctypes.c_long(CALLS[platform.machine()][1]), *words)


def add_key(kind, description, payload, ring):
    """The number of the new key. The kernel frees what was invalidated a moment later; until then the quota may be full."""
    for _ in range(1000):
        number = libc.syscall(ctypes.c_long(CALLS[platform.machine()][0]), kind, description.encode(), payload,
                              ctypes.c_size_t(len(payload or b"")), ctypes.c_long(ring))
        if number >= 0:
            check(keyctl(SET_PERMISSION, number, 0x3F3F0000), "keyctl setperm")
            return number
        if ctypes.get_errno() != errno.EDQUOT:
            break
        time.sleep(0.01)
    return check(number, "add_key")


def read_key(number):
    size = keyctl(READ, number, 0, 0)
    if size < 0:
        return None
    buffer = ctypes.create_string_buffer(max(size, 1))
    return buffer.raw[:size] if keyctl(READ, number, buffer, size) == size else None


def describe_key(number):
    buffer = ctypes.create_string_buffer(512)
    size = keyctl(DESCRIBE, number, buffer, 512)
    if size <= 0:
        return None
    kind, _, _, _, description = buffer.value.decode().split(";", 4)
    return kind, description


def ring_numbers(ring):
    content = read_key(ring) or b""
    return [int.from_bytes(content[at:at + 4], sys.byteorder, signed=True) for at in range(0, len(content), 4)]


def keys_of_vaults(ring=USER_KEYRING, path=""):
    """Payload by path of everything of ours in the user keyring; None is a ring."""
    found = {}
    for number in ring_numbers(ring):
        described = describe_key(number)
        if not described or not (path or described[1].startswith("coffer:")):
            continue
        name = path + described[1]
        if described[0] == "keyring":
            found[name] = None
            found.update(keys_of_vaults(number, name + "/"))
        else:
            found[name] = read_key(number)
    return found


def listed_keys():
    """The same by their names in /proc/keys, which lists what is anywhere in the kernel; without what is on its way out."""
    found = set()
    with contextlib.suppress(FileNotFoundError), open("/proc/keys") as stream:
        for line in stream:
            words = line.split(None, 8)
            is_alive = len(words) == 9 and not set(words[1]) & set("RDi") and words[2] != "0"
            if is_alive and words[8].startswith("coffer:"):
                found.add(words[8].rsplit(":", 1)[0])
    return found


def quota_of(user):
    """How many bytes the kernel counts against a user for keys."""
    with open("/proc/key-users") as stream:
        for line in stream:
            words = line.replace("/", " ").split()
            if words[0] == "%d:" % user:
                return int(words[6])
    return 0


def look_at_keys():
    """Both; what is in no keyring of ours gets a second to be freed by the kernel."""
    end = time.monotonic() + 1
    while True:
        keys, listed = keys_of_vaults(), listed_keys()
        if listed <= {name.split("/")[0] for name in keys} or time.monotonic() > end:
            return keys, listed
        time.sleep(0.005)


def plant_keys(keys):
    """Makes the user keyring hold these and nothing else of ours; what is there already is kept, and updated."""
    for number in ring_numbers(USER_KEYRING):
        described = describe_key(number)
        if not described or not described[1].startswith("coffer:"):
            continue
        if described[1] not in keys:
            keyctl(UNLINK, number, USER_KEYRING)
        for inner in ring_numbers(number) if described[0] == "keyring" else []:
            if "%s/%s" % (described[1], (describe_key(inner) or ("", ""))[1]) not in keys:
                keyctl(UNLINK, inner, number)
    rings = {}
    for name, payload in sorted(keys.items()):
        outer, _, inner = name.partition("/")
        if payload is None:
            rings[name] = ring(name)
        else:
            add_key(b"user", inner or outer, payload, rings[outer] if inner else USER_KEYRING)


def ring(name):
    for number in ring_numbers(USER_KEYRING):
        if describe_key(number) == ("keyring", name):
            return number
    return add_key(b"keyring", name, None, USER_KEYRING)


# ------------------------------------------------------------------------------------------------------------------
# Files

def copy_tree(source, target):
    """With modes and owners, as nothing but the content of a home matters to it."""
    os.mkdir(target, 0o700)
    for entry in os.scandir(source):
        path = os.path.join(target, entry.name)
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), path)
        elif entry.is_dir():
            copy_tree(entry.path, path)
            continue
        elif entry.is_file():
            shutil.copyfile(entry.path, path)
        else:  # a socket of a service that has ended
            continue
        copy_marks(entry.path, path)
    copy_marks(source, target)


def copy_marks(source, target):
    status = os.lstat(source)
    if os.geteuid() == 0:
        os.lchown(target, status.st_uid, status.st_gid)
    if not os.path.islink(target):
        os.chmod(target, stat.S_IMODE(status.st_mode))


def remove_tree(path):
    if not os.path.lexists(path):
        return
    if os.path.islink(path) or not os.path.isdir(path):
        return os.unlink(path)
    if os.geteuid() != 0:
        os.chmod(path, 0o700)
    for entry in os.scandir(path):
        remove_tree(entry.path)
    os.rmdir(path)


def picture(root):
    """Kind, mode, owner and content of everything below, by path."""
    found = {}

    def look(path, relative):
        status = os.lstat(path)
        marks = (stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode), status.st_uid)
        if stat.S_ISDIR(status.st_mode):
            found[relative] = marks + (b"",)
            with contextlib.suppress(PermissionError):
                for name in os.listdir(path):
                    look(os.path.join(path, name), os.path.join(relative, name))
        elif stat.S_ISREG(status.st_mode):
            content = b"cannot be read"
            with contextlib.suppress(PermissionError), open(path, "rb") as stream:
                content = stream.read()
            found[relative] = marks + (content,)
        else:
            found[relative] = marks + (os.readlink(path).encode() if os.path.islink(path) else b"",)
    look(root, "")
    return found


def contents(pictured):
    return {path: entry[3] for path, entry in pictured.items() if stat.S_ISREG(entry[0])}


# ------------------------------------------------------------------------------------------------------------------
# The world of one worker

@dataclasses.dataclass
class Done:
    code: int
    out: bytes
    err: bytes

    @property
    def document(self):
        try:
            document = json.loads(self.out)
        except ValueError:
            return None
        return document if isinstance(document, dict) else None

    @property
    def error(self):
        """The name of the error in the document."""
        error = (self.document or {}).get("error")
        return error.get("code") if isinstance(error, dict) else None

    def __str__(self):
        lines = self.err.decode(errors="backslashreplace").strip().splitlines()
        return "exit %d%s" % (self.code, ": " + lines[-1][:200] if lines else "")


@dataclasses.dataclass
class Weather:
    """What surrounds one run of the command."""
    environment: dict = dataclasses.field(default_factory=dict)
    limits: dict = dataclasses.field(default_factory=dict)
    without_proc: bool = False
    without_home_option: bool = False
    # A folder to be mounted as /etc.
    etc: str = None


class World:
    def __init__(self, coffer, root, number, user, libraries):
        self.coffer, self.user, self.libraries, self.cells = coffer, user, libraries, 0
        self.first_user = user
        self.folder = os.path.join(root, "worker-%d" % number)
        os.mkdir(self.folder, 0o755)
        self.here = os.path.join(self.folder, "here")
        self.home = os.path.join(self.here, "home")
        self.services, self.mounted = [], None
        if user is not None:
            self.enter_namespace()

    def enter_namespace(self):
        """Mounts of its own; and the message bus asks for the name of its user."""
        check(libc.unshare(NEW_MOUNTS), "unshare")
        mount("none", "/", "none", PRIVATE | RECURSIVE)
        accounts = os.path.join(self.folder, "passwd")
        with open("/etc/passwd") as stream, open(accounts, "w") as out:
            out.write(stream.read())
            for user in range(self.user, self.user + USERS_OF_WORKER):
                out.write("weather%d:x:%d:%d::%s:/bin/sh\n" % (user, user, user, self.here))
        mount(accounts, "/etc/passwd", "none", BIND)

    def change_user(self):
        """Goes on as the next user: the kernel counts every key that was ever invalidated in a user's keyring against
        the user, some bytes each, and in the end refuses new ones."""
        self.cells += 1
        if self.user is None or self.cells % CELLS_OF_USER:
            return
        self.as_user(plant_keys, {})
        self.user = self.first_user + self.cells // CELLS_OF_USER % USERS_OF_WORKER
        for name in os.listdir(self.folder):
            if name.startswith("template-"):
                self.own(os.path.join(self.folder, name))

    def own(self, path):
        """Makes everything there that was the user's the present user's."""
        for folder, folders, files in os.walk(path):
            for entry in [folder, *(os.path.join(folder, name) for name in files)]:
                if os.lstat(entry).st_uid:
                    os.lchown(entry, self.user, self.user)

    def become(self):
        if self.user is not None:
            os.setgroups([])
            os.setresgid(self.user, self.user, self.user)
            os.setresuid(self.user, self.user, self.user)

    def as_user(self, function, *arguments):
        """Runs it in a process of the user."""
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reader)
                self.become()
                result = True, function(*arguments)
            except BaseException as problem:  # this process must not go on as a worker
                result = False, repr(problem)
            with os.fdopen(writer, "wb") as stream:
                pickle.dump(result, stream)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, "rb") as stream:
            held, result = pickle.load(stream)
        os.waitpid(child, 0)
        if not held:
            raise RuntimeError(result)
        return result

    def environment(self):
        inside = {"HOME": "user", "XDG_RUNTIME_DIR": "run", "TMPDIR": "tmp"}
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
        return {**kept, **{name: os.path.join(self.here, folder) for name, folder in inside.items()},
                "LANG": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no"}

    def run(self, arguments, home="home", passcode=None, given=b"", weather=None, program=None, limit=CELL_LIMIT,
            recovery=None):
        """Runs the command as the user; `None` as code of what did not end."""
        weather = weather or Weather()
        environment = {**self.environment(), **weather.environment}
        environment = {name: value for name, value in environment.items() if value is not None}
        end = arguments.index("--") if "--" in arguments else len(arguments)
        line = [program or self.coffer, *arguments[:end], "--json"]
        if not weather.without_home_option:
            line += ["--home", os.path.join(self.here, home)]
        readers = []
        for option, secret in (("--passcode-fd", passcode), ("--recovery-fd", recovery)):
            if secret is not None:
                reader, writer = os.pipe()
                os.write(writer, secret + b"\n")
                os.close(writer)
                readers.append(reader)
                line += [option, str(reader)]

        def prepare():
            if weather.without_proc:
                check(libc.unshare(NEW_MOUNTS), "unshare")
                mount("none", "/proc", "tmpfs", 0)
            if weather.etc:
                check(libc.unshare(NEW_MOUNTS), "unshare")
                mount(weather.etc, "/etc", "none", BIND)
            self.become()
            for name, value in weather.limits.items():
                resource.setrlimit(name, (value, value))

        process = subprocess.Popen(
            line + arguments[end:], env=environment, pass_fds=readers, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, cwd=self.folder, preexec_fn=prepare)
        for reader in readers:
            os.close(reader)
        try:
            out, err = process.communicate(given, timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            return Done(None, out, err)
        return Done(process.returncode, out, err)

    def succeed(self, arguments, **options):
        done = self.run(arguments, **options)
        if done.code != 0:
            raise RuntimeError("template: %s: %s" % (" ".join(arguments[:3]), done))
        return done

    # The template ------------------------------------------------------------------------------------------------

    def make_template(self, keyring):
        self.clear()
        self.as_user(plant_keys, {})
        self.make_folders()
        if keyring == "secret-service":
            self.start_desktop(unlocked=True)
        self.vaults = {"home": self.make_vault("home", PASSCODE, keyring)}
        for name, value in ((TOKEN, VALUE), (["other.example", "ada"], VALUE)):
            self.succeed(["token", "put", *name], passcode=PASSCODE, given=value)
        document = os.path.join(self.here, "outside", "document")
        with open(document, "wb") as stream:
            stream.write(CONTENT)
        os.chmod(document, 0o644)
        self.file = self.succeed(["file", "add", document], passcode=PASSCODE).document["id"]
        os.unlink(document)
        self.make_order()
        self.succeed(["key", "generate", "signing"])
        backup = os.path.join(self.here, "outside", "backup")
        self.succeed(["backup", "create", backup, "--to", BACKUP_RECIPIENT])
        os.unlink(backup)
        # The desktop's keyring is not on the private bus of a service.
        if keyring == "file":
            self.succeed(["serve", "--", "true"])
        self.succeed(["anchor", "set", os.path.join(self.here, "outside", "anchor")], passcode=PASSCODE)
        made = self.succeed(["recovery", "create", "--unchecked"], passcode=PASSCODE)
        self.recovery = made.document["recoveryKey"].encode()
        self.places = {}
        for user, passcode in USERS.items():
            digest = hmac.new(self.vaults["home"].bytes, NAMESPACE_LABEL + user.encode(), hashlib.sha256).hexdigest()
            self.places[user] = os.path.join("home", "users", digest[:32])
            self.vaults[user] = self.make_vault(self.places[user], passcode, "file")
        self.vaults["other"] = self.make_vault("other", PASSCODE, "file")
        anchor = os.path.join(self.here, "outside", "anchor-of-other")
        self.succeed(["anchor", "set", anchor], home="other", passcode=PASSCODE)
        self.succeed(["token", "put", *TOKEN, "--volatile", "--kind", "id"], given=VOLATILE)
        self.leave_view()
        self.stop_services()
        keys, listed = self.as_user(look_at_keys)
        self.keys = keys
        if not all(any(name.startswith(self.prefix(vault)) for name in keys) for vault in self.vaults):
            raise Unusable("no kernel keyring holds keys for later commands here")
        self.pieces = {vault: self.key_pieces(place) for vault, place in
                       [("home", "home"), *self.places.items(), ("other", "other")]}
        self.template = os.path.join(self.folder, "template-" + keyring)
        copy_tree(self.here, self.template)
        self.disguised = self.disguise()
        return {name: getattr(self, name) for name in self.OF_TEMPLATE}

    OF_TEMPLATE = ("vaults", "places", "file", "order", "recovery", "view", "keys", "pieces", "template", "disguised")

    def use_template(self, made):
        for name, value in made.items():
            setattr(self, name, value)

    def make_folders(self):
        remove_tree(self.here)
        for name in ("", "user", "run", "tmp", "outside", "elsewhere"):
            path = os.path.join(self.here, name)
            os.mkdir(path, 0o700)
            if self.user is not None:
                os.chown(path, self.user, self.user)

    def make_vault(self, home, passcode, keyring):
        arguments = [word if word != "file" else keyring for word in CHEAP_INIT]
        made = self.succeed([*arguments, "--inactivity", "reboot"], home=home, passcode=passcode)
        # No use prolongs it: what is planted again later is still in its time.
        self.succeed(["unlock", "--for", str(DAY)], home=home, passcode=passcode)
        return Vault(made.document["vaultID"])

    def make_order(self):
        key = os.path.join(self.here, "outside", "administrator")
        public = self.succeed(["remote-wipe", "keygen", key]).document["publicKey"]
        self.succeed(["remote-wipe", "trust-key", public], passcode=PASSCODE)
        order = self.succeed(["remote-wipe", "create", "--key-file", key, "--vault", self.vaults["home"].text])
        self.make_policy(key)
        os.unlink(key)
        self.order = os.path.join(self.here, "outside", "order")
        with open(self.order, "wb") as stream:
            stream.write(base64.b64decode(order.document["order"]))
        os.chmod(self.order, 0o644)

    def make_policy(self, key):
        """The vault obeys a signed policy, whose rule it meets."""
        path = os.path.join(self.here, "outside", "rules.json")
        with open(path, "wb") as stream:
            stream.write(b'{"PasscodeMinimumLength": 1}')
        os.chmod(path, 0o644)
        signed = self.succeed(["policy", "sign", path, "--key-file", key, "--vault", self.vaults["home"].text])
        os.unlink(path)
        self.succeed(["policy", "take", "-"], given=base64.b64decode(signed.document["policy"]))

    def make_etc(self):
        """A folder that can be mounted as /etc, with an empty folder of policies."""
        etc = os.path.join(self.folder, "etc")
        remove_tree(etc)
        os.makedirs(os.path.join(etc, "coffer", "policy.d"), mode=0o755)
        for name in ("passwd", "group", "nsswitch.conf", "ld.so.cache", "machine-id", "localtime"):
            with contextlib.suppress(FileNotFoundError):
                shutil.copy(os.path.join("/etc", name), etc)
        return etc

    def leave_view(self):
        """A view copy whose owner and everybody around it were killed."""
        script = 'cat "$1" >/dev/null; kill -9 0'
        self.run(["file", "view", self.file, "--", "sh", "-c", script, "sh", "{}"])
        found = [path for path, content in contents(picture(self.here)).items() if CONTENT[:33] in content]
        self.view = found[0] if found else None

    def prefix(self, vault):
        return "coffer:%s:" % self.vaults[vault].text

    def key_pieces(self, place):
        """Bytes of the device key and of wrapped keys: what a wipe must leave nowhere."""
        pieces = []
        for name, (start, end) in {**KEY_PIECES, "recovery": (56, 128)}.items():
            path = os.path.join(self.here, place, "vault", name)
            if name == "recovery" and not os.path.exists(path):
                continue
            with open(path, "rb") as stream:
                content = stream.read()[start:end]
            pieces += [content[at:at + 16] for at in range(0, len(content) - 15, 8)
                       if len(set(content[at:at + 16])) >= 12]
        if not pieces:
            raise RuntimeError("no piece of a key in " + place)
        return pieces

    def disguise(self):
        """What no message and no file may show: name and bytes, as they could be written."""
        plain = [("the passcode", PASSCODE), ("a passcode", USERS["ada"]), ("a token", VALUE), ("a new token", NEW_VALUE),
                 ("a volatile token", VOLATILE), ("a file", CONTENT[:33]), ("the recovery key", self.recovery)]
        plain += [("a class key", key[:32]) for name, key in self.keys.items() if key and "/" not in name]
        return [(name, text) for name, secret in plain for text in disguises(secret)]

    def secrets(self):
        return self.disguised

    # One cell ----------------------------------------------------------------------------------------------------

    def fresh(self, held=("home", "ada", "bob", "other")):
        """The home as it was made, its keys held for these vaults."""
        self.clear()
        self.change_user()
        remove_tree(self.here)
        copy_tree(self.template, self.here)
        prefixes = tuple(self.prefix(vault) for vault in held)
        self.as_user(plant_keys, {name: key for name, key in self.keys.items() if name.startswith(prefixes)})

    def held(self):
        return self.as_user(look_at_keys)

    def clear(self):
        """Ends what a cell has begun. The keys stay until the next one, or the end: the kernel frees them slowly."""
        self.stop_services()
        if self.mounted:
            check(libc.umount2(self.mounted.encode(), 2), "umount")
            self.mounted = None

    def put_on_disk(self, full):
        """Puts the home on a disk of its own, without a byte left, or read-only."""
        aside = os.path.join(self.folder, "aside")
        remove_tree(aside)
        os.rename(self.home, aside)
        os.mkdir(self.home, 0o700)
        mount("tmpfs", self.home, "tmpfs", 0, "size=1m,mode=700")
        self.mounted = self.home
        copy_marks(aside, self.home)
        for name in os.listdir(aside):
            (copy_tree if os.path.isdir(os.path.join(aside, name)) else self.copy_file)(
                os.path.join(aside, name), os.path.join(self.home, name))
        remove_tree(aside)
        if not full:
            return mount("none", self.home, "none", REMOUNT | BIND | READ_ONLY)
        with open(os.path.join(self.home, "filler"), "wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(4096))

    def copy_file(self, source, target):
        shutil.copyfile(source, target)
        copy_marks(source, target)

    # The desktop -------------------------------------------------------------------------------------------------

    def desktop_environment(self):
        folder = os.path.join(self.here, "user")
        return {**self.environment(), "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_CACHE_HOME": folder,
                "DBUS_SESSION_BUS_ADDRESS": self.bus_address}

    @property
    def bus_address(self):
        return "unix:path=" + os.path.join(self.here, "run", "bus")

    def start_desktop(self, unlocked, keyring=True):
        if self.user is None and not shutil.which("gnome-keyring-daemon"):
            raise Unusable("no gnome-keyring")
        # With a configuration of its own it starts no service on request.
        configuration = os.path.join(self.here, "run", "bus.conf")
        with open(configuration, "w") as stream:
            stream.write(BUS % self.bus_address)
        os.chmod(configuration, 0o644)
        self.start(["dbus-daemon", "--config-file=" + configuration, "--nofork"])
        self.wait_for(lambda: os.path.exists(os.path.join(self.here, "run", "bus")))
        if not keyring:
            return
        arguments = ["gnome-keyring-daemon", "--foreground", "--components=secrets"]
        service = self.start(arguments + (["--unlock"] if unlocked else []))
        if unlocked:
            service.stdin.write(KEYRING_PASSWORD)
        service.stdin.close()
        self.wait_for(self.has_service)

    def has_service(self):
        found = subprocess.run(
            ["dbus-send", "--bus=" + self.bus_address, "--print-reply", "--dest=org.freedesktop.DBus", "/",
             "org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"],
            env=self.desktop_environment(), preexec_fn=self.become, capture_output=True, timeout=CELL_LIMIT)
        return b"true" in found.stdout

    def start(self, arguments):
        if not shutil.which(arguments[0]):
            raise Unusable("no " + arguments[0])
        process = subprocess.Popen(
            arguments, env=self.desktop_environment(), preexec_fn=self.become, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder)
        self.services.append(process)
        return process

    def wait_for(self, condition):
        end = time.monotonic() + CELL_LIMIT
        while not condition():
            if time.monotonic() > end:
                raise Unusable("the desktop's services do not start")
            time.sleep(0.01)

    def freeze_keyring(self):
        os.kill(self.services[-1].pid, signal.SIGSTOP)

    def stop_services(self):
        for process in self.services:
            process.kill()
            process.wait()
        self.services = []


class Vault:
    def __init__(self, text):
        self.text, self.bytes = text, bytes.fromhex(text.replace("-", ""))


def build_libraries(folder):
    return {"wallclock": build(folder, "wallclock")} if shutil.which("cc") else {}
