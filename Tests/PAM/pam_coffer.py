#!/usr/bin/env python3
"""Tries pam_coffer.so with real logins: su, login, pamtester and a program of its own.

    pam_coffer.py --coffer PATH [--only NAME,…]

Needs root, for the user that it makes up. Each scenario runs in a mount namespace of its own, where files of this
directory's making cover /etc/passwd, /etc/shadow, /etc/group, /etc/pam.d and /run: those of the machine stay as they are. One line for each, `NAME ok` or `NAME FAILED`, with the reason; the exit code is 1 when one failed.
"""

import argparse
import glob
import json
import os
import pty
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
USER, UID = "coffer-login", 47321
OTHER, OTHER_UID = "coffer-other", 47322
PASSCODE = "correct horse"
VALUE = "the stored value"
DEADLINE = 60


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


def mount(*arguments):
    subprocess.run(["mount", *arguments], check=True, timeout=DEADLINE)


class Machine:
    """A machine with two users, the first of whom has a vault with the passcode."""

    def __init__(self, coffer, module, folder):
        self.coffer, self.module, self.folder = coffer, module, folder
        self.home, self.has_vault = f"{folder}/home/{USER}", False
        os.makedirs(f"{folder}/etc/pam.d")
        for name, uid in ((USER, UID), (OTHER, OTHER_UID)):
            os.makedirs(f"{folder}/home/{name}", mode=0o755)
            os.chown(f"{folder}/home/{name}", uid, uid)
        for name in ("passwd", "shadow", "group"):
            shutil.copy2(f"/etc/{name}", f"{folder}/etc/{name}")
            # unix_chkpwd reads the passwords with the group's right.
            os.chown(f"{folder}/etc/{name}", 0, os.stat(f"/etc/{name}").st_gid)
        with open(f"{folder}/etc/passwd", "a") as file:
            file.write(f"{USER}:x:{UID}:{UID}::{self.home}:/bin/sh\n")
            file.write(f"{OTHER}:x:{OTHER_UID}:{OTHER_UID}::{folder}/home/{OTHER}:/bin/sh\n")
        with open(f"{folder}/etc/group", "a") as file:
            file.write(f"{USER}:x:{UID}:\n{OTHER}:x:{OTHER_UID}:\n")
        self.shadow = open(f"{folder}/etc/shadow").read()
        self.log_in_with(PASSCODE)
        self.service()
        for name in ("passwd", "shadow", "group", "pam.d"):
            mount("--bind", f"{folder}/etc/{name}", f"/etc/{name}")
        # What is under /run, too, for there may be no /run/user.
        mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run")
        os.mkdir("/run/user")

    def log_in_with(self, password):
        """Sets the password of both users, as root does. Writes in place, for the file may be mounted."""
        made = subprocess.run(["openssl", "passwd", "-6", "-stdin"], input=password, text=True, check=True,
                              stdout=subprocess.PIPE, timeout=DEADLINE).stdout.strip()
        with open(f"{self.folder}/etc/shadow", "r+") as file:
            file.truncate(0)
            file.write(self.shadow + "".join(f"{name}:{made}:19000:0:99999:7:::\n" for name in (USER, OTHER)))

    def service(self, *options, program=None):
        """Writes how every service of PAM uses the module."""
        options = " ".join((f"program={program or self.coffer}",) + options)
        text = (f"auth required pam_unix.so\nauth optional {self.module}\naccount required pam_unix.so\n"
                f"session required pam_unix.so\nsession optional {self.module} {options}\n"
                "password required pam_unix.so\n")
        # A screen locker has no session, so the options are with auth, too.
        text = text.replace(f"auth optional {self.module}", f"auth optional {self.module} {options}")
        for name in ("su", "su-l", "login", "other", "locker"):
            with open(f"{self.folder}/etc/pam.d/{name}", "w") as file:
                file.write(text)

    def run(self, *arguments, passcode=None, input=b"", option="--passcode-fd"):
        """Runs the command as the user."""
        given = []
        reading, writing = os.pipe()
        if passcode is not None:
            given = [option, str(reading)]
            os.write(writing, passcode.encode() + b"\n")
        os.close(writing)
        try:
            return subprocess.run(
                ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "env", "-i",
                 f"HOME={self.home}", "PATH=/usr/bin:/bin", self.coffer, *arguments, *given],
                input=input, pass_fds=[reading], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                timeout=DEADLINE)
        finally:
            os.close(reading)

    def vault(self, *options):
        made = self.run("init", "--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2",
                        "--attempt-delays", "off", *options, passcode=PASSCODE, option="--passcode-fd")
        check(made.returncode == 0, f"init: {made.stderr.decode()}")
        self.has_vault = True
        put = self.run("token", "put", "s", "a", passcode=PASSCODE, input=VALUE.encode())
        check(put.returncode == 0, f"put: {put.stderr.decode()}")

    def left(self):
        return json.loads(self.run("status", "--json").stdout)["attemptsLeft"]

    def is_unlocked(self):
        got = self.run("token", "get", "s", "a")
        check(got.returncode in (0, 4), f"get ended with {got.returncode}: {got.stderr.decode()}")
        return got.returncode == 0 and got.stdout.decode() == VALUE

    def su(self, password=PASSCODE, user=USER, command="echo in"):
        begin = time.monotonic()
        done = subprocess.run(["su", "-", user, "-c", command], input=password.encode() + b"\n",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=DEADLINE,
                              start_new_session=True)
        done.seconds = time.monotonic() - begin
        return done

    def must_log_in(self, *arguments, **options):
        done = self.su(*arguments, **options)
        check(done.returncode == 0 and done.stdout == b"in\n", f"no login: {done.stdout!r} {done.stderr!r}")
        return done

    def application(self, *options, password=PASSCODE, service="su", before=(), environment=None):
        reading, writing = os.pipe()
        os.write(writing, password.encode() + b"\n")
        os.close(writing)
        done = subprocess.run([*before, f"{self.folder}/../application", service, USER, str(reading), *options],
                              pass_fds=[reading], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment, timeout=DEADLINE)
        os.close(reading)
        return done

    def spy(self, text):
        """Makes a program of root's that the module starts instead of the command."""
        path = f"{self.folder}/spy"
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        os.makedirs(f"{self.folder}/seen", exist_ok=True)
        os.chown(f"{self.folder}/seen", UID, UID)
        return path

    def seen(self, name):
        try:
            with open(f"{self.folder}/seen/{name}") as file:
                return file.read()
        except FileNotFoundError:
            return None


def su(machine):
    machine.vault()
    check(not machine.is_unlocked(), "the vault was open before the login")
    got = machine.su(command=f"{machine.coffer} token get s a")
    check(got.stdout.decode() == VALUE, f"the session got {got.stdout!r} {got.stderr!r}")
    check(machine.is_unlocked() and machine.left() == 10, "the vault is locked afterwards")


def log_in_at_terminal(wanted, command):
    """Logs in with login at a terminal and enters what `command` returns in the shell; returns what login showed."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(shutil.which("login"), ["login", USER])
    text, end, sent = b"", time.monotonic() + DEADLINE, 0
    try:
        while time.monotonic() < end and wanted not in text:
            if not select.select([terminal], [], [], 0.5)[0]:
                continue
            try:
                text += os.read(terminal, 4096)
            except OSError:
                break
            if sent == 0 and b"assword:" in text:
                os.write(terminal, PASSCODE.encode() + b"\n")
                sent = 1
            elif sent == 1 and b"$ " in text:
                os.write(terminal, command())
                sent = 2
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return text


def login(machine):
    machine.vault()
    answer = b"[" + VALUE.encode() + b"]"
    command = f"echo \"[$({machine.coffer} token get s a)]\"; exit\n".encode()
    text = log_in_at_terminal(answer, lambda: command)
    check(answer in text, f"login showed {text!r}")


def wrong(machine):
    machine.vault()
    for _ in range(2):
        done = machine.su("not the password")
        check(done.returncode == 1 and done.stdout == b"", "a wrong password logged in")
    check(machine.left() == 10 and not machine.is_unlocked(), "a wrong login password reached the vault")


def different(machine):
    machine.vault()
    for round, password in enumerate(("first other", "second other", "third other", "fourth other")):
        machine.log_in_with(password)
        for _ in range(3):
            machine.must_log_in(password)
        check(machine.left() == 9 and not machine.is_unlocked(), f"round {round}: {machine.left()} are left")
    check(machine.run("unlock", passcode=PASSCODE).returncode == 0, "the passcode opens no more")
    check(machine.left() == 10, "the right passcode did not reset the count")
    machine.must_log_in("fourth other")
    check(machine.left() == 10, "a login tried its password although the vault was unlocked")
    machine.run("lock")
    machine.must_log_in("fourth other")
    check(machine.left() == 9, "the password was not tried again after the right passcode")


def spared(machine):
    machine.vault()
    for number in range(9):
        check(machine.run("unlock", passcode=f"guess {number}").returncode == 5, "a guess was not wrong")
    for password in (PASSCODE, "other"):
        machine.log_in_with(password)
        machine.must_log_in(password)
        check(machine.left() == 1 and not machine.is_unlocked(), "the login tried the last attempt")
    direct = machine.run("unlock", "--from-login", "--json", passcode=PASSCODE)
    check(direct.returncode == 11 and b"refused" in direct.stdout + direct.stderr, f"{direct}")
    check(machine.run("unlock", passcode=PASSCODE).returncode == 0, "the passcode opens no more")


def no_passcode(machine):
    made = machine.run("init", "--keyring", "file", "--no-passcode")
    check(made.returncode == 0, f"init: {made.stderr.decode()}")
    machine.must_log_in()
    machine.log_in_with("other")
    machine.must_log_in("other")


def homes(machine):
    machine.must_log_in()
    machine.vault()
    os.chown(machine.home, OTHER_UID, OTHER_UID)
    machine.must_log_in()
    os.chown(machine.home, UID, UID)
    os.chmod(machine.home, 0o777)
    machine.must_log_in()
    os.chmod(machine.home, 0o755)
    check(machine.left() == 10 and not machine.is_unlocked(), "a home of others was used")
    os.rename(machine.home, machine.home + ".away")
    done = machine.su()
    check(done.stdout == b"in\n", f"no login without a home: {done.stderr!r}")
    os.symlink(machine.home + ".away", machine.home)
    machine.must_log_in()
    os.remove(machine.home)
    os.rename(machine.home + ".away", machine.home)
    check(not machine.is_unlocked(), "a home that is a link was used")
    vault = f"{machine.home}/.local/share/coffer"
    for path, folders, files in os.walk(vault):
        for name in [path] + [os.path.join(path, one) for one in files]:
            os.chown(name, OTHER_UID, OTHER_UID)
    machine.must_log_in()
    for path, folders, files in os.walk(vault):
        for name in [path] + [os.path.join(path, one) for one in files]:
            os.chown(name, UID, UID)
    check(machine.left() == 10 and not machine.is_unlocked(), "a vault of another user was used")


def full(machine):
    mount("-t", "tmpfs", "-o", f"size=4m,mode=755,uid={UID},gid={UID}", "tmpfs", machine.home)
    machine.vault()
    with open(f"{machine.home}/filling", "wb") as file:
        try:
            while True:
                file.write(bytes(65536))
                file.flush()
        except OSError:
            pass
    machine.must_log_in()
    machine.run("lock")
    os.remove(f"{machine.home}/filling")
    machine.must_log_in()
    check(machine.is_unlocked() and machine.left() == 10, "the vault did not outlast a full disk")


def read_only(machine):
    mount("-t", "tmpfs", "-o", f"size=4m,mode=755,uid={UID},gid={UID}", "tmpfs", machine.home)
    machine.vault()
    mount("-o", "remount,ro", machine.home)
    machine.must_log_in()
    mount("-o", "remount,rw", machine.home)
    check(machine.left() == 10 and not machine.is_unlocked(), "a disk that cannot count was used")


def stalled(machine):
    """A disk that answers only after the deadline: the session that has begun then does not end with the command."""
    image = f"{machine.folder}/disk"
    with open(image, "wb") as file:
        file.truncate(8 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-F", image], check=True, timeout=DEADLINE)
    mount("-o", "loop", image, machine.home)
    os.chown(machine.home, UID, UID)
    machine.vault()
    machine.service("seconds=1")
    subprocess.run(["fsfreeze", "-f", machine.home], check=True, timeout=DEADLINE)

    def thaw():
        subprocess.run(["fsfreeze", "-u", machine.home], check=True, timeout=DEADLINE)
        # Reading the disk answers after the command that was killed has ended.
        return b"sync; sleep 1; echo still $((40 + 2))\n"

    try:
        text = log_in_at_terminal(b"still 42", thaw)
    finally:
        subprocess.run(["fsfreeze", "-u", machine.home], stderr=subprocess.DEVNULL, timeout=DEADLINE)
    check(b"still 42" in text, f"the session ended: {text!r}")


def hanging(machine):
    os.makedirs(f"{machine.home}/.local/share/coffer")
    spy = machine.spy(f"trap '' TERM INT HUP\necho $$ >{machine.folder}/seen/pid\n"
                      f"sleep 300 & echo $! >{machine.folder}/seen/child\nwhile :; do sleep 1; done\n")
    machine.service("seconds=2", program=spy)
    done = machine.must_log_in()
    check(2 <= done.seconds < 6, f"the login took {done.seconds:.1f} seconds")
    for name in ("pid", "child"):
        pid = machine.seen(name).strip()
        end = time.monotonic() + 5
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < end:
            if open(f"/proc/{pid}/stat").read().split(")")[1].split()[0] == "Z":
                break
            time.sleep(0.02)
        else:
            check(not os.path.exists(f"/proc/{pid}"), f"{name} is still there")


def peer(machine):
    """The vault's keyring is on a bus that never answers, or that is another user's."""
    machine.vault()
    runtime = f"/run/user/{UID}"
    os.makedirs(runtime, mode=0o700)
    os.chown(runtime, UID, UID)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(f"{runtime}/bus")
        silent.listen()
        os.chown(f"{runtime}/bus", UID, UID)
        machine.must_log_in()
        check(machine.is_unlocked(), "a silent bus kept a vault locked that needs none")
        machine.run("lock")


def environment(machine):
    """The program sees the user's identity, the password and nothing else of the login's."""
    os.makedirs(f"{machine.home}/.local/share/coffer")
    seen = f"{machine.folder}/seen"
    machine.service(program=machine.spy(
        f"env | sort >{seen}/env; id >{seen}/id; cat >{seen}/input; ls /proc/self/fd >{seen}/fds\n"
        f"grep -E '^(NoNewPrivs|SigBlk|SigIgn|Uid|Gid|Groups|CapEff)' /proc/self/status >{seen}/status\n"
        f"pwd >{seen}/pwd; umask >{seen}/umask; ulimit -c >{seen}/core; tr '\\0' ' ' </proc/$$/cmdline >{seen}/line\n"))
    runtime = f"/run/user/{UID}"
    expected = {f"HOME={machine.home}", f"USER={USER}", f"LOGNAME={USER}", "PATH=/usr/bin:/bin"}

    def variables():
        os.environ["LEAKED"] = "yes"
        machine.must_log_in()
        shell = ("PWD=", "OLDPWD=", "SHLVL=", "_=")
        return {line for line in machine.seen("env").split("\n") if line and not line.startswith(shell)}

    check(variables() == expected, f"without a runtime directory: {variables()}")
    os.makedirs(runtime, mode=0o700)
    check(variables() == expected, "another user's runtime directory was named")
    os.chown(runtime, UID, UID)
    check(variables() == expected | {f"XDG_RUNTIME_DIR={runtime}"}, f"with one: {variables()}")
    with socket.socket(socket.AF_UNIX) as bus:
        bus.bind(f"{runtime}/bus")
        check(variables() == expected | {f"XDG_RUNTIME_DIR={runtime}"}, "another user's socket was named")
        os.chown(f"{runtime}/bus", UID, UID)
        check(variables() == expected | {f"XDG_RUNTIME_DIR={runtime}",
                                         f"DBUS_SESSION_BUS_ADDRESS=unix:path={runtime}/bus"}, f"{variables()}")
    check(machine.seen("input") == PASSCODE + "\n", "the password did not arrive")
    check(machine.seen("id").split()[:2] == [f"uid={UID}({USER})", f"gid={UID}({USER})"], machine.seen("id"))
    check(f"groups={UID}({USER})\n" in machine.seen("id"), machine.seen("id"))
    check(machine.seen("fds").split()[:3] == ["0", "1", "2"] and len(machine.seen("fds").split()) == 4,
          machine.seen("fds"))
    status = dict(line.split(":\t") for line in machine.seen("status").strip().split("\n"))
    check(status["NoNewPrivs"] == "1" and int(status["CapEff"], 16) == 0, f"{status}")
    # Signals 32 and 33 are the C library's own, which sigaction does not change.
    ignored = int(status["SigIgn"], 16) & ~(3 << 31)
    check(int(status["SigBlk"], 16) == 0 and ignored == 0, f"{status}")
    check(machine.seen("pwd") == "/\n" and machine.seen("umask").strip() == "0077", "directory or umask")
    check(machine.seen("core").strip() == "0", "core dumps are allowed")
    check(PASSCODE not in machine.seen("line") and "--from-login --passcode-fd 0" in machine.seen("line"),
          machine.seen("line"))


def programs(machine):
    """A program that others can change is not started, nor is one that is not there."""
    os.makedirs(f"{machine.home}/.local/share/coffer")
    spy = machine.spy(f"echo started >{machine.folder}/seen/started\n")
    for mode, owner in ((0o775, 0), (0o757, 0), (0o755, UID), (0o755, OTHER_UID)):
        os.chmod(spy, mode)
        os.chown(spy, owner, 0)
        machine.service(program=spy)
        machine.must_log_in()
        check(machine.seen("started") is None, f"a program with mode {mode:o} of {owner} was started")
    for path in ("/nowhere/coffer", machine.folder, "coffer", "", "/" + "x" * 300):
        machine.service(program=path)
        machine.must_log_in()
    for seconds in ("seconds=", "seconds=-1", "seconds=x", "seconds=99999999999", "unknown=1"):
        os.chown(spy, 0, 0)
        os.chmod(spy, 0o755)
        machine.service(seconds, program=spy)
        machine.must_log_in()
    check(machine.seen("started") == "started\n", "a program that is right was not started")


def passwords(machine):
    """What `coffer unlock` would not read as it is never gets there."""
    os.makedirs(f"{machine.home}/.local/share/coffer")
    machine.service(program=machine.spy(f"cat >>{machine.folder}/seen/input\n"))
    for password, is_given in (("ends in return\r", False), ("two\rparts", False), ("p" * 511, True),
                               ("\u00e4\u00f6\u00fc\u20ac", True), (" blanks ", True), ("%s%n'\"$(x)", True)):
        machine.log_in_with(password)
        done = machine.application(password=password)
        if b"authenticate 0" not in done.stdout:
            continue
        before = machine.seen("input") or ""
        check((password + "\n" in before) == is_given, f"{password!r} was handed over, or was not")
    check(machine.seen("input").count("\n") >= 3, "no password was handed over")


def applications(machine):
    """A program that reaps its children itself, begins two sessions, or becomes another user."""
    machine.vault()
    for options in ((), ("reap",), ("ignore",), ("twice",), ("refresh",)):
        machine.run("lock")
        done = machine.application(*options, "copies")
        check(b"session 0" in done.stdout or b"refresh" in done.stdout, f"{options}: {done.stdout!r}")
        check(machine.is_unlocked(), f"{options}: the vault is locked")
        # The remaining copies are PAM's own, without the module's.
        with_module = int(done.stdout.split(b"copies ")[1])
        text = open(f"{machine.folder}/etc/pam.d/su").read()
        with open(f"{machine.folder}/etc/pam.d/su", "w") as file:
            file.write("".join(line for line in text.splitlines(True) if machine.module not in line))
        without = int(machine.application(*options, "copies").stdout.split(b"copies ")[1])
        with open(f"{machine.folder}/etc/pam.d/su", "w") as file:
            file.write(text)
        check(with_module <= without, f"{options}: {with_module} copies of the password, {without} without")
    machine.run("lock")
    seen = machine.spy(f"id -un >>{machine.folder}/seen/who\n")
    machine.service(program=seen)
    os.makedirs(f"{machine.folder}/home/{OTHER}/.local/share/coffer")
    done = machine.application(f"become={OTHER}")
    check(b"session 0" in done.stdout and machine.seen("who") is None, "another user got the password")
    machine.application("twice")
    check(machine.seen("who") == USER + "\n", f"handed over more than once: {machine.seen('who')!r}")


def alone(machine):
    """Stacks with nothing but the module grant nothing, whatever its control word."""
    for control in ("optional", "sufficient", "required", "requisite"):
        with open(f"{machine.folder}/etc/pam.d/su", "w") as file:
            file.write(f"auth {control} {machine.module}\naccount required pam_permit.so\n"
                       f"session {control} {machine.module}\n")
        done = machine.application()
        check(b"authenticate 0" not in done.stdout, f"{control}: {done.stdout!r}")


def pamtester(machine):
    """A screen locker, which runs as the user; and a module before that keeps the password to itself."""
    machine.vault()
    matrix = glob.glob("/usr/lib/*/pam_wrapper/pam_matrix.so")[0]
    wrapper = glob.glob("/usr/lib/*/libpam_wrapper.so*")[0]
    services = f"{machine.folder}/services"
    os.makedirs(services)
    with open(f"{machine.folder}/passdb", "w") as file:
        file.write(f"{USER}:{PASSCODE}:matrix\n")
    with open(f"{services}/other", "w") as file:
        file.write("auth required pam_deny.so\n")
    for name, first in (("locker", "pam_unix.so"), ("matrix", f"{matrix} passdb={machine.folder}/passdb")):
        with open(f"{services}/{name}", "w") as file:
            file.write(f"auth required {first}\nauth optional {machine.module} program={machine.coffer}\n")

    def locker(password, service="locker"):
        return subprocess.run(
            ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "env", "-i", "PATH=/usr/bin:/bin",
             f"LD_PRELOAD={wrapper}", "PAM_WRAPPER=1", f"PAM_WRAPPER_SERVICE_DIR={services}",
             "pamtester", service, USER, "authenticate", "setcred(PAM_REINITIALIZE_CRED)"],
            input=password.encode() + b"\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=DEADLINE)

    done = locker(PASSCODE, "matrix")
    check(done.returncode == 0 and not machine.is_unlocked(), f"{done.stdout!r}")
    done = locker("not the password")
    check(done.returncode != 0 and not machine.is_unlocked() and machine.left() == 10, f"{done.stdout!r}")
    done = locker(PASSCODE)
    check(b"successfully authenticated" in done.stdout and machine.is_unlocked(), f"{done.stdout!r}")


def memory(machine):
    """valgrind and the address sanitizer have nothing to say of the module."""
    machine.vault()
    valgrind = ("valgrind", "-q", "--error-exitcode=99", "--leak-check=full", "--errors-for-leak-kinds=definite")
    for options in ((), ("twice",), ("refresh",), (f"become={OTHER}",)):
        machine.run("lock")
        done = machine.application(*options, before=valgrind)
        check(done.returncode == 0 and b"pam_coffer" not in done.stderr, done.stderr.decode())
        check(f"become={OTHER}" in options or machine.is_unlocked(), f"{options}: locked")
    build = os.path.join(HERE, "..", "..", "Scripts", "build-pam")
    subprocess.run([build, f"{machine.folder}/sanitized", "-fsanitize=address,undefined",
                    "-fno-sanitize-recover=all", "-U_FORTIFY_SOURCE"], check=True, stdout=subprocess.DEVNULL,
                   timeout=DEADLINE)
    machine.module = f"{machine.folder}/sanitized/pam_coffer.so"
    machine.service()
    runtime = [subprocess.run(["cc", f"-print-file-name={name}"], stdout=subprocess.PIPE, text=True,
                              timeout=DEADLINE).stdout.strip() for name in ("libasan.so", "libubsan.so")]
    for options in ((), ("twice",), ("refresh",), ("reap",), (f"become={OTHER}",)):
        machine.run("lock")
        done = machine.application(*options, environment={
            "LD_PRELOAD": ":".join(runtime + ["libcrypt.so.1"]), "ASAN_OPTIONS": "detect_leaks=0", "PATH": "/usr/bin:/bin"})
        check(done.returncode == 0 and b"ERROR" not in done.stderr, done.stderr.decode())
        check(b"authenticate 0" in done.stdout, f"{done.stdout!r} {done.stderr!r}")
        check(f"become={OTHER}" in options or machine.is_unlocked(), f"{options}: locked")


SCENARIOS = {one.__name__: one for one in (
    su, login, wrong, different, spared, no_passcode, homes, full, read_only, stalled, hanging, peer, environment,
    programs, passwords, applications, alone, pamtester, memory)}


def inside(name, coffer, folder):
    machine = Machine(coffer, f"{folder}/pam_coffer.so", f"{folder}/{name}")
    try:
        SCENARIOS[name](machine)
    finally:
        # A lock leaves the keys of afterFirstUnlock in the kernel keyring until a reboot; those of some runs of
        # this program would use up what the kernel grants one user.
        if machine.has_vault:
            machine.run("wipe", "--yes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--coffer", required=True)
    parser.add_argument("--only", default=",".join(SCENARIOS))
    parser.add_argument("--inside", nargs=2)
    options = parser.parse_args()
    coffer = os.path.abspath(options.coffer)
    if options.inside:
        try:
            inside(options.inside[0], coffer, options.inside[1])
        except Failed as failure:
            sys.exit(str(failure))
        return
    if os.geteuid() != 0:
        sys.exit("This needs root.")
    is_good = True
    with tempfile.TemporaryDirectory(prefix="coffer-pam-") as folder:
        os.chmod(folder, 0o755)
        build = os.path.join(HERE, "..", "..", "Scripts", "build-pam")
        subprocess.run([build, folder], check=True, stdout=subprocess.DEVNULL, timeout=DEADLINE)
        subprocess.run(["cc", "-std=c17", "-O1", "-Wall", "-Wextra", "-Werror", f"{HERE}/application.c", "-lpam", "-o",
                        f"{folder}/application"], check=True, timeout=DEADLINE)
        for name in options.only.split(","):
            os.makedirs(f"{folder}/{name}", mode=0o755)
            try:
                done = subprocess.run(
                    ["unshare", "-m", sys.executable, __file__, "--coffer", coffer, "--inside", name, folder],
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=240)
                error = done.stdout.decode(errors="replace") if done.returncode else ""
            except subprocess.TimeoutExpired:
                error = "took more than four minutes"
            print(f"{name} ok" if not error else f"{name} FAILED\n{error}", flush=True)
            is_good = is_good and not error
    sys.exit(0 if is_good else 1)


if __name__ == "__main__":
    main()
