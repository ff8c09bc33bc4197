#!/usr/bin/env python3
"""Tries `coffer ssh-agent` and `coffer ssh import` with OpenSSH's own programs, a real sshd on loopback, and git.

    agent.py --coffer PATH [--only NAME,…]

Each scenario makes a vault in a directory of its own. One line for each, `NAME ok` or `NAME FAILED`, with the reason;
the exit code is 1 when one failed. Needs openssh-client, openssh-server, git, openssl and setpriv. As root, the sshd
and its client are root's; the scenario with another user runs only as root.
"""

import argparse
import base64
import math
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

DEADLINE = 60
FAILURE, SUCCESS, IDENTITIES, SIGNATURE = 5, 6, 12, 14
PASSCODE = b"correct horse\n"


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


class World:
    """A vault, and agents on it, in a directory that is removed at the end."""

    def __init__(self, coffer, passcode=True):
        self.coffer = coffer
        self.path = tempfile.mkdtemp(prefix="coffer-ssh-")
        self.runtime = os.path.join(self.path, "run")
        self.home = os.path.join(self.path, "home")
        os.mkdir(self.runtime, 0o700)
        os.mkdir(self.home, 0o700)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.home, "XDG_RUNTIME_DIR": self.runtime,
            "COFFER_HOME": os.path.join(self.path, "vault"), "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
        }
        self.agents = []
        self.passcode = passcode
        options = ["--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2", "--policy", "none"]
        if passcode:
            self.run([self.coffer, "init", *options, "--passcode-fd", "0"], PASSCODE)
            self.unlock()
        else:
            self.run([self.coffer, "init", *options, "--no-passcode"])

    def unlock(self):
        self.run([self.coffer, "unlock", "--passcode-fd", "0"], PASSCODE)

    def lock(self):
        self.run([self.coffer, "lock"])

    def run(self, command, data=b"", expected=0, agent=None, extra=None):
        environment = dict(self.environment, **(extra or {}))
        if agent:
            environment["SSH_AUTH_SOCK"] = agent
        done = subprocess.run(command, input=data, env=environment, cwd=self.home, timeout=DEADLINE,
                              capture_output=True, start_new_session=True)
        if expected is not None:
            check(done.returncode == expected,
                  f"{command}: {done.returncode}, not {expected}: {done.stdout!r} {done.stderr!r}")
        return done

    def agent(self, *options, extra=None):
        """Starts an agent; returns the path of its socket, when it listens."""
        process = subprocess.Popen([self.coffer, "ssh-agent", *options], env=dict(self.environment, **(extra or {})),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=open(os.path.join(self.path, "agent.err"), "ab"), start_new_session=True)
        self.agents.append(process)
        line = process.stdout.readline().decode()
        check(line.startswith("SSH_AUTH_SOCK="), f"the agent did not start: {line!r} {self.errors()}")
        return line.split("'")[1]

    def openssh_agent(self):
        path = os.path.join(self.path, "reference")
        process = subprocess.Popen(["ssh-agent", "-D", "-a", path], env=self.environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.agents.append(process)
        end = time.monotonic() + DEADLINE
        while not os.path.exists(path):
            check(time.monotonic() < end, "OpenSSH's agent did not start")
            time.sleep(0.02)
        return path

    def errors(self):
        with open(os.path.join(self.path, "agent.err"), "rb") as file:
            return file.read().decode()

    def keygen(self, name, kind, *options, passphrase=""):
        path = os.path.join(self.home, name)
        self.run(["ssh-keygen", "-q", "-t", kind, *options, "-N", passphrase, "-C", name, "-f", path])
        return path

    def close(self):
        for process in self.agents:
            process.terminate()
        for process in self.agents:
            try:
                process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise Failed("an agent did not end after a signal")
            finally:
                if process.stdout:
                    process.stdout.close()
        if self.passcode:
            self.run([self.coffer, "lock"], expected=None)
        shutil.rmtree(self.path)


# ---------------------------------------------------------------------------------------------------------------
# The protocol, for what no client sends.

def string(data):
    return struct.pack(">I", len(data)) + data


def connected(path):
    peer = socket.socket(socket.AF_UNIX)
    # Without a time-out, as ssh connects: with one, a full queue of the listening socket is an error.
    peer.connect(path)
    peer.settimeout(DEADLINE)
    return peer


def receive(peer, count):
    data = b""
    while len(data) < count:
        part = peer.recv(count - len(data))
        if not part:
            return None
        data += part
    return data


def ask(peer, message):
    """Sends a message; returns the answer, None when the agent closes the connection."""
    try:
        peer.sendall(string(message))
        head = receive(peer, 4)
    except (BrokenPipeError, ConnectionResetError):
        return None
    return receive(peer, struct.unpack(">I", head)[0]) if head else None


def keys_of(path):
    """The encoded public keys that an agent lists."""
    with connected(path) as peer:
        answer = ask(peer, b"\x0b")
    check(answer and answer[0] == IDENTITIES, f"no list: {answer!r}")
    count, at, keys = struct.unpack(">I", answer[1:5])[0], 5, []
    for _ in range(count):
        strings = []
        for _ in range(2):
            size = struct.unpack(">I", answer[at:at + 4])[0]
            strings.append(answer[at + 4:at + 4 + size])
            at += 4 + size
        keys.append(strings[0])
    check(at == len(answer), "bytes after the list")
    return keys


# ---------------------------------------------------------------------------------------------------------------
# Scenarios.

KINDS = [("ed25519", []), ("ecdsa", ["-b", "256"]), ("ecdsa", ["-b", "384"]), ("rsa", ["-b", "2048"]),
         ("rsa", ["-b", "4096"])]


def imported(world, options=()):
    """Imports a key of each kind and removes the originals; returns the aliases with their public lines."""
    lines = {}
    for kind, sizes in KINDS:
        name = kind + "".join(sizes[1:])
        path = world.keygen(name, kind, *sizes)
        with open(path + ".pub") as file:
            lines[name] = file.read().split()[:2]
        done = world.run([world.coffer, "ssh", "import", path, "--remove-original", *options])
        check(done.stdout.decode().split()[:2] == lines[name], f"another public key: {done.stdout!r}")
        check(not os.path.exists(path), "the original is still there")
    return lines


def private_keys_in(path):
    """The files under a path that contain a private key."""
    found = []
    for folder, _, names in os.walk(path):
        for name in names:
            full = os.path.join(folder, name)
            if not os.path.isfile(full):
                continue
            with open(full, "rb") as file:
                if b"PRIVATE KEY-----" in file.read():
                    found.append(full)
    return found


def login(coffer):
    """Every kind of key signs in to a real sshd, and none while the vault is locked."""
    world = World(coffer)
    server = None
    try:
        check(private_keys_in(world.path) == [], "the search finds a key where there is none")
        planted = world.keygen("planted", "ed25519")
        check(private_keys_in(world.path) == [planted], "the search does not find a planted key")
        os.remove(planted)
        lines = imported(world)
        check(private_keys_in(world.path) == [], "a file with a private key is left")
        path = world.agent()
        listed = world.run(["ssh-add", "-L"], agent=path).stdout.decode().splitlines()
        check(sorted(line.split()[:2] for line in listed) == sorted(lines.values()), "other keys are listed")
        server, port = start_sshd(world, lines)
        options = ["-F", "none", "-p", str(port), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no",
                   "-o", f"UserKnownHostsFile={world.home}/known", "-o", "PreferredAuthentications=publickey",
                   "-o", "IdentitiesOnly=yes", "-o", "ConnectTimeout=30"]
        user = subprocess.run(["id", "-un"], capture_output=True, text=True).stdout.strip()
        for name, line in lines.items():
            public = os.path.join(world.home, name + ".pub")
            command = ["ssh", *options, "-i", public, f"{user}@127.0.0.1", "echo", "inside"]
            done = world.run(command, agent=path)
            check(done.stdout == b"inside\n", f"{name}: {done.stdout!r}")
        world.lock()
        listed = world.run(["ssh-add", "-L"], agent=path).stdout
        check(len(listed.splitlines()) == len(lines), "a locked vault does not list its keys")
        done = world.run(["ssh", *options, "-i", os.path.join(world.home, "ed25519.pub"), f"{user}@127.0.0.1", "true"],
                         agent=path, expected=255)
        check(b"agent refused operation" in done.stderr, f"no refusal: {done.stderr!r}")
        check("vault is locked" in world.errors(), f"no reason: {world.errors()}")
        world.unlock()
        world.run(["ssh", *options, "-i", os.path.join(world.home, "ed25519.pub"), f"{user}@127.0.0.1", "true"],
                  agent=path)
    finally:
        if server:
            server.terminate()
            server.wait(DEADLINE)
        world.close()


def start_sshd(world, lines):
    host_key = world.keygen("host", "ed25519")
    directory = os.path.join(world.path, "sshd")
    os.mkdir(directory, 0o755)
    os.chmod(world.path, 0o755)
    keys = os.path.join(directory, "keys")
    shutil.move(host_key, os.path.join(directory, "host"))
    with open(keys, "w") as file:
        for line in lines.values():
            file.write(" ".join(line) + "\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = os.path.join(directory, "settings")
    with open(settings, "w") as file:
        file.write(f"""Port {port}
ListenAddress 127.0.0.1
HostKey {directory}/host
PidFile {directory}/pid
AuthorizedKeysFile {keys}
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
""")
    if os.getuid() == 0:
        os.makedirs("/run/sshd", exist_ok=True)
    server = subprocess.Popen([shutil.which("sshd", path="/usr/sbin:/usr/bin") or "sshd", "-D", "-e", "-f", settings],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=open(os.path.join(directory, "log"), "wb"), start_new_session=True)
    end = time.monotonic() + DEADLINE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 5).close()
            return server, port
        except OSError:
            check(time.monotonic() < end and server.poll() is None, "sshd did not start")
            time.sleep(0.05)


def signatures(coffer):
    """ssh-keygen -Y sign and git commit -S with every kind of key, verified, and refused while locked."""
    world = World(coffer)
    try:
        lines = imported(world)
        path = world.agent()
        allowed = os.path.join(world.home, "allowed")
        with open(allowed, "w") as file:
            for line in lines.values():
                file.write("ada@example.org " + " ".join(line) + "\n")
        text = os.path.join(world.home, "text")
        with open(text, "w") as file:
            file.write("hello\n")
        for name in lines:
            public = os.path.join(world.home, name + ".pub")
            world.run(["ssh-keygen", "-Y", "sign", "-f", public, "-n", "file", text], agent=path)
            verify = ["ssh-keygen", "-Y", "verify", "-f", allowed, "-I", "ada@example.org", "-n", "file",
                      "-s", text + ".sig"]
            world.run(verify, b"hello\n")
            world.run(verify, b"hello!\n", expected=255)
            os.remove(text + ".sig")
        git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "gpg.format=ssh",
               "-c", f"gpg.ssh.allowedSignersFile={allowed}",
               "-c", "user.signingkey=key::" + " ".join(lines["ed25519"])]
        world.run(["git", "init", "-q", "."])
        world.run([*git, "commit", "-q", "-S", "--allow-empty", "-m", "one"], agent=path)
        world.run([*git, "verify-commit", "HEAD"])
        shown = world.run([*git, "log", "--show-signature", "-1"])
        check(b"Good \"git\" signature for ada@example.org" in shown.stdout, f"{shown.stdout!r}")
        world.lock()
        done = world.run([*git, "commit", "-q", "-S", "--allow-empty", "-m", "two"], agent=path, expected=None)
        check(done.returncode != 0 and b"agent refused operation" in done.stderr, f"{done.stderr!r}")
        check("vault is locked" in world.errors(), f"no reason: {world.errors()}")
    finally:
        world.close()


def ssh_add(coffer):
    """ssh-add -l, -L, -d, -D, -t, -x and -X, and what they may not do."""
    world = World(coffer)
    try:
        path = world.agent()
        done = world.run(["ssh-add", "-l"], agent=path, expected=1)
        check(b"no identities" in done.stdout, f"{done.stdout!r}")
        world.run([coffer, "key", "generate", "work"])
        fingerprint = world.run(["ssh-add", "-l"], agent=path).stdout.decode()
        check("work (ED25519)" in fingerprint, fingerprint)
        own = world.keygen("own", "ecdsa")
        world.run(["ssh-add", own], agent=path)
        check(len(keys_of(path)) == 2, "the added key is not listed")
        world.run(["ssh-add", "-T", own + ".pub"], agent=path)
        world.run(["ssh-add", "-d", own], agent=path)
        check(len(keys_of(path)) == 1, "the added key is still listed")
        public = os.path.join(world.home, "work.pub")
        with open(public, "wb") as file:
            file.write(world.run([coffer, "key", "public", "work"]).stdout)
        world.run(["ssh-add", "-T", public], agent=path)
        world.run(["ssh-add", "-d", public], agent=path, expected=1)
        check("removes no keys from the vault" in world.errors(), world.errors())
        world.run(["ssh-add", "-t", "1", own], agent=path)
        end = time.monotonic() + DEADLINE
        while len(keys_of(path)) == 2:
            check(time.monotonic() < end, "the time of a key does not end")
            time.sleep(0.2)
        world.run(["ssh-add", own], agent=path)
        world.run(["ssh-add", "-D"], agent=path)
        check(len(keys_of(path)) == 1, "-D left an added key, or took a key of the vault")
        world.run([coffer, "key", "show", "work"])
        with connected(path) as peer:
            check(ask(peer, b"\x16" + string(b"secret"))[0] == SUCCESS, "the agent cannot be locked")
            check(keys_of(path) == [], "a locked agent lists keys")
            check(ask(peer, b"\x16" + string(b"secret"))[0] == FAILURE, "a locked agent is locked again")
            check(ask(peer, b"\x17" + string(b"wrong"))[0] == FAILURE, "a wrong passphrase unlocks")
            check(ask(peer, b"\x17" + string(b"secret"))[0] == SUCCESS, "the passphrase does not unlock")
        check(len(keys_of(path)) == 1, "the agent is still locked")
    finally:
        world.close()


def confirm(coffer):
    """Keys that require a confirmation are used only after a yes."""
    world = World(coffer)
    try:
        asked = os.path.join(world.home, "asked")
        askpass = os.path.join(world.home, "askpass")
        answer = os.path.join(world.home, "answer")
        with open(askpass, "w") as file:
            file.write(f'#!/bin/sh\necho "$SSH_ASKPASS_PROMPT $1" >>{asked}\n. {answer}\n')
        os.chmod(askpass, 0o700)
        path = world.agent(extra={"SSH_ASKPASS": askpass})
        world.run([coffer, "key", "generate", "kept", "--confirm"])
        own = world.keygen("own", "ed25519")
        world.run(["ssh-add", "-c", own], agent=path)
        kept = os.path.join(world.home, "kept.pub")
        with open(kept, "wb") as file:
            file.write(world.run([coffer, "key", "public", "kept"]).stdout)
        for public in (kept, own + ".pub"):
            for words, expected in [("exit 0", 0), ("echo yes", 0), ("echo no", 255), ("exit 1", 255)]:
                with open(answer, "w") as file:
                    file.write(words + "\n")
                world.run(["ssh-keygen", "-Y", "sign", "-f", public, "-n", "git"], b"x", agent=path,
                          expected=expected)
        with open(asked) as file:
            lines = file.read().splitlines()
        check(lines.count("confirm Allow use of the key kept to sign a git commit or tag?") == 4, f"{lines}")
        check(len(lines) == 8, f"{lines}")
        without = world.agent("--socket", os.path.join(world.path, "other"))
        world.run(["ssh-keygen", "-Y", "sign", "-f", kept, "-n", "git"], b"x", agent=without, expected=255)
        check("SSH_ASKPASS names no program" in world.errors(), world.errors())
    finally:
        world.close()


def private_message(world, path):
    """The message with which ssh-add adds the key in a file."""
    place = os.path.join(world.path, "catch")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen(1)
        listening.settimeout(DEADLINE)
        client = subprocess.Popen(["ssh-add", "-q", path], env=dict(world.environment, SSH_AUTH_SOCK=place),
                                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        peer, _ = listening.accept()
        with peer:
            peer.settimeout(DEADLINE)
            message = receive(peer, struct.unpack(">I", receive(peer, 4))[0])
            peer.sendall(string(bytes([SUCCESS])))
        client.wait(DEADLINE)
    os.remove(place)
    return message


def transcript(coffer):
    """The same answers as those of OpenSSH's own agent to the same messages."""
    world = World(coffer)
    try:
        own, reference = world.agent(), world.openssh_agent()
        files = {kind + "".join(sizes[1:]): world.keygen(kind + "".join(sizes[1:]), kind, *sizes)
                 for kind, sizes in KINDS[:4]}
        adding = {name: private_message(world, path) for name, path in files.items()}
        keys = {}
        for name, path in files.items():
            with open(path + ".pub") as file:
                keys[name] = base64.b64decode(file.read().split()[1])
        sign = {name: b"\x0d" + string(key) + string(b"data") for name, key in keys.items()}
        messages = [("list", b"\x0b"), ("remove all", b"\x13"), ("sign unknown", sign["ed25519"] + bytes(4)),
                    ("remove unknown", b"\x12" + string(keys["ed25519"])), ("unlock", b"\x17" + string(b"x"))]
        for name in files:
            messages += [("add " + name, adding[name]), ("add again " + name, adding[name]), ("list", b"\x0b"),
                         ("sign " + name, sign[name] + struct.pack(">I", 4 if name.startswith("rsa") else 0))]
        messages += [
            ("sha-256", sign["rsa2048"] + struct.pack(">I", 2)),
            ("short sign", b"\x0d" + string(keys["ed25519"])), ("unknown number", b"\xfe"),
            ("unknown extension", b"\x1b" + string(b"nothing@example.org")), ("short extension", b"\x1b"),
            ("lying add", adding["ed25519"][:40]), ("remove", b"\x12" + string(keys["ecdsa256"])), ("list", b"\x0b"),
            ("lock", b"\x16" + string(b"secret")), ("list locked", b"\x0b"), ("add locked", adding["ed25519"]),
            ("sign locked", sign["ed25519"] + bytes(4)), ("remove all locked", b"\x13"),
            ("unlock wrongly", b"\x17" + string(b"wrong")), ("unlock", b"\x17" + string(b"secret")),
            ("list", b"\x0b"), ("remove all", b"\x13"), ("list", b"\x0b"),
        ]
        with connected(own) as ours, connected(reference) as theirs:
            for name, message in messages:
                answers = [ask(peer, message) for peer in (ours, theirs)]
                if name == "unknown extension":
                    answers = [answer[:1] in (b"\x05", b"\x1c") for answer in answers]
                elif name.startswith("sign ecdsa"):
                    # These differ each time: as long as the numbers are, and valid.
                    check(answers[0][0] == answers[1][0] == SIGNATURE, f"{name}: {answers}")
                    continue
                check(answers[0] == answers[1], f"{name}: {answers[0]!r}, not {answers[1]!r}")
        with connected(own) as peer:
            ask(peer, adding["rsa2048"])
            check(ask(peer, sign["rsa2048"] + bytes(4)) == bytes([FAILURE]), "a signature with SHA-1 is made")
            check("SHA-1" in world.errors(), world.errors())
    finally:
        world.close()


def hostile(coffer):
    """Lying lengths, half messages, many connections, peers that never read, and other users."""
    world = World(coffer)
    try:
        path = world.agent()
        world.run([coffer, "key", "generate", "work"])
        key = keys_of(path)[0]
        for size in (0, 256 * 1024 + 1, 0xFFFFFFFF):
            with connected(path) as peer:
                peer.sendall(struct.pack(">I", size) + b"\x0b")
                try:
                    check(receive(peer, 1) is None, f"a message of {size} bytes is answered")
                except ConnectionResetError:
                    pass
        with connected(path) as peer:
            for message in (b"\x0d" + b"\xff" * 8, b"\x0d" + string(key) + struct.pack(">I", 1 << 31),
                            b"\x0b\x00", b"\x11" + string(b"ssh-ed25519") + string(b"x"), b"\x12", b"\x16", b"\x00"):
                check(ask(peer, message) == bytes([FAILURE]), f"{message!r} is not refused")
            check(ask(peer, b"\x0d" + string(key) + string(b"x" * 250_000) + bytes(4))[0] == SIGNATURE,
                  "a long message is not signed")
        # Half a message keeps nobody else waiting.
        half = connected(path)
        half.sendall(struct.pack(">I", 100) + b"\x0d")
        check(keys_of(path) == [key], "half a message blocks")
        # A peer that asks and never reads.
        deaf = connected(path)
        deaf.setblocking(False)
        try:
            while True:
                deaf.send(string(b"\x0b") * 1000)
        except BlockingIOError:
            pass
        check(keys_of(path) == [key], "a peer that does not read blocks")
        many = []
        for _ in range(10_000):
            many.append(connected(path))
            if len(many) > 500:
                many.pop(0).close()
        check(keys_of(path) == [key], "many connections block")
        for peer in many + [half, deaf]:
            peer.close()
        check(keys_of(path) == [key], "the agent does not work any more")
        if os.getuid() == 0:
            os.chmod(world.path, 0o755)
            os.chmod(world.runtime, 0o755)
            os.chmod(os.path.dirname(path), 0o755)
            os.chmod(path, 0o777)
            done = subprocess.run(
                ["setpriv", "--reuid", "65534", "--clear-groups", sys.executable, "-c",
                 "import socket,sys\ns=socket.socket(socket.AF_UNIX);s.settimeout(30);s.connect(sys.argv[1])\n"
                 "s.sendall(b'\\0\\0\\0\\1\\x0b')\ntry:\n r=s.recv(9)\nexcept OSError:\n r=b''\nprint(len(r))", path],
                capture_output=True, timeout=DEADLINE, cwd="/")
            check(done.stdout == b"0\n" or b"BrokenPipe" in done.stderr, f"another user is served: {done}")
        other = world.agent("--socket", os.path.join(world.path, "second"))
        check(keys_of(other) == [key], "a second agent does not work")
        done = world.run([coffer, "ssh-agent", "--socket", other], expected=None)
        check(done.returncode != 0 and b"Another program listens" in done.stderr, f"{done}")
    finally:
        world.close()


def is_prime(number):
    if number < 4 or any(number % small == 0 for small in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)):
        return number in (2, 3)
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for _ in range(8):
        power = pow(random.randrange(2, number - 1), odd, number)
        if power in (1, number - 1):
            continue
        for _ in range(twos - 1):
            power = power * power % number
            if power == number - 1:
                break
        else:
            return False
    return True


def prime(bits):
    while True:
        number = random.getrandbits(bits) | 3 << bits - 2 | 1
        if (number - 1) % 65537 and is_prime(number):
            return number


def integer(number):
    return string(number.to_bytes((number.bit_length() + 8) // 8, "big") if number else b"")


def weak_keys(coffer):
    """RSA keys whose numbers do not belong together, or whose primes are easy to find, are refused."""
    world = World(coffer, passcode=False)
    try:
        path, e = world.agent(), 65537

        def answer(p, q, d=None, inverse=None, exponent=e, modulus=None, order=None):
            d = d or pow(e, -1, order or (p - 1) * (q - 1))
            inverse = inverse or pow(q, -1, p)
            numbers = [modulus or p * q, exponent, d, inverse, p, q]
            message = b"\x11" + string(b"ssh-rsa") + b"".join(map(integer, numbers)) + string(b"a key")
            with connected(path) as peer:
                return ask(peer, message)[0]

        p, q = prime(1024), prime(1024)
        half, tiny = prime(512), prime(24)
        least = (p - 1) * (q - 1) // math.gcd(p - 1, q - 1)
        close = p + 2
        while not is_prime(close):
            close += 2
        for number, expected in enumerate([
                (answer(p, q), SUCCESS), (answer(q, p), SUCCESS),
                # The private exponent is not reduced.
                (answer(p, q, pow(e, -1, least) + least), SUCCESS),
                (answer(p, q, d=3), FAILURE), (answer(p, q, inverse=5), FAILURE),
                (answer(p, q, exponent=65539), FAILURE), (answer(p, q, exponent=65538), FAILURE),
                (answer(p, q, exponent=3), FAILURE), (answer(p, q, modulus=p * q + 2), FAILURE),
                (answer(p, p, order=p * (p - 1), inverse=1), FAILURE),
                (answer(p, close), FAILURE), (answer(prime(2024), tiny), FAILURE),
                (answer(half * prime(512), q, order=(half - 1) * (q - 1)), FAILURE),
                (answer(1, p * q, d=e, inverse=1), FAILURE), (answer(p * q, 1, d=e, inverse=1), FAILURE),
                (answer(2, p, d=e, inverse=1), FAILURE), (answer(half, prime(512)), FAILURE)]):
            check(expected[0] == expected[1], f"key {number}: {expected}")
        check(len(keys_of(path)) == 1, "not one key")
    finally:
        world.close()


def questions(coffer):
    """A peer that asks for a signature writes neither a second line of the question nor a long one."""
    world = World(coffer, passcode=False)
    try:
        asked, askpass = os.path.join(world.home, "asked"), os.path.join(world.home, "askpass")
        with open(askpass, "w") as file:
            file.write(f'#!/bin/sh\nmkdir {asked}.open || echo another >>{asked}\nprintf "%s\\n" "$1" >>{asked}\n'
                       f'sleep 0.1\nrmdir {asked}.open\n')
        os.chmod(askpass, 0o700)
        path = world.agent(extra={"SSH_ASKPASS": askpass})
        world.run([coffer, "key", "generate", "work", "--confirm"])
        key = base64.b64decode(world.run([coffer, "key", "public", "work"]).stdout.split()[1])
        for user in (b"root?\nHost key: SHA256:other" + b"\n" * 60, b"A" * 200_000):
            data = (string(b"session") + b"\x32" + string(user) + string(b"ssh-connection") + string(b"publickey")
                    + b"\x01" + string(b"ssh-ed25519") + string(key))
            with connected(path) as peer:
                check(ask(peer, b"\x0d" + string(key) + string(data) + bytes(4))[0] == SIGNATURE, "no signature")
        with open(asked) as file:
            lines = file.read().splitlines()
        check(len(lines) == 2 and all(len(line) < 200 for line in lines), f"{lines}")
        check(lines[0].startswith("Allow use of the key work to sign in as root??Host key"), lines[0])
        peers = [connected(path) for _ in range(8)]
        for peer in peers:
            peer.sendall(string(b"\x0d" + string(key) + string(b"data") + bytes(4)))
        for peer in peers:
            check(receive(peer, struct.unpack(">I", receive(peer, 4))[0])[0] == SIGNATURE, "no signature")
            peer.close()
        with open(asked) as file:
            lines = file.read().splitlines()
        check(len(lines) == 10 and "another" not in lines, f"several questions at once: {lines}")
    finally:
        world.close()


def command(coffer):
    """-- COMMAND: the environment, the exit code, and no socket left; and a socket that systemd passes."""
    world = World(coffer, passcode=False)
    try:
        world.run([coffer, "key", "generate", "work", "--algorithm", "p384"])
        done = world.run([coffer, "ssh-agent", "--", "sh", "-c", "ssh-add -L; exit 7"], expected=7)
        check(b"ecdsa-sha2-nistp384" in done.stdout and done.stdout.endswith(b" work\n"), f"{done.stdout!r}")
        world.run([coffer, "ssh-agent", "--", "no-such-program"], expected=127)
        check(os.listdir(os.path.join(world.runtime, "coffer")) == [], "a socket is left")
        place = os.path.join(world.path, "passed")
        activated = subprocess.Popen(
            ["systemd-socket-activate", "-l", place, "-E", "HOME", "-E", "XDG_RUNTIME_DIR", "-E", "COFFER_HOME",
             coffer, "ssh-agent"], env=world.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True) if shutil.which("systemd-socket-activate") else None
        if activated:
            world.agents.append(activated)
            end = time.monotonic() + DEADLINE
            while not os.path.exists(place):
                check(time.monotonic() < end, "the socket did not appear")
                time.sleep(0.02)
            check(len(keys_of(place)) == 1, "an activated agent does not list the key")
        shown = world.run([coffer, "ssh", "config"]).stdout.decode()
        check(f'IdentityAgent "{world.runtime}/coffer/ssh.sock"' in shown, shown)
        check(f"ExecStart={os.path.realpath(coffer)} ssh-agent" in shown, shown)
        shown = world.run([coffer, "ssh", "config", "--socket", "mine"]).stdout.decode()
        check(f'SSH_AUTH_SOCK="{world.home}/mine"' in shown, shown)
    finally:
        world.close()


def imports(coffer):
    """A key with a passphrase, which ssh-add asks for; what cannot be stored; aliases that are taken."""
    world = World(coffer, passcode=False)
    try:
        askpass = os.path.join(world.home, "askpass")
        with open(askpass, "w") as file:
            file.write("#!/bin/sh\necho 'open sesame'\n")
        os.chmod(askpass, 0o700)
        closed = world.keygen("closed", "ed25519", passphrase="open sesame")
        extra = {"SSH_ASKPASS": askpass, "SSH_ASKPASS_REQUIRE": "force", "DISPLAY": "none"}
        world.run([coffer, "ssh", "import", closed], extra=extra)
        check(os.path.exists(closed), "the original is gone")
        world.run([coffer, "ssh", "import", closed], extra=extra, expected=None)
        done = world.run([coffer, "ssh", "import", closed], extra=extra, expected=None)
        check(b"already a key pair" in done.stderr and done.returncode != 0, f"{done}")
        done = world.run([coffer, "ssh", "import", closed, "--alias", "twice"], extra=extra, expected=None)
        check(b"has this key already" in done.stderr and done.returncode != 0, f"{done}")
        large = world.keygen("large", "ecdsa", "-b", "521")
        done = world.run([coffer, "ssh", "import", large, "--remove-original"], expected=None)
        check(done.returncode != 0 and os.path.exists(large), f"{done}")
        weak = world.keygen("weak", "rsa", "-b", "1024")
        done = world.run([coffer, "ssh", "import", weak, "--remove-original"], expected=None)
        check(done.returncode != 0 and os.path.exists(weak), f"{done}")
        with open(askpass, "w") as file:
            file.write("#!/bin/sh\ntouch asked\nsleep 60\n")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process = subprocess.Popen([coffer, "ssh", "import", closed, "--alias", "ended"], cwd=world.home,
                                       env=dict(world.environment, **extra), stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
            asked = os.path.join(world.home, "asked")
            end = time.monotonic() + DEADLINE
            while not os.path.exists(asked):
                check(time.monotonic() < end, "ssh-add does not ask")
                time.sleep(0.02)
            os.remove(asked)
            os.killpg(process.pid, number)
            check(process.wait(DEADLINE) == -number, f"not ended by {number}: {process.returncode}")
        link = os.path.join(world.home, "link")
        os.symlink(weak, link)
        done = world.run([coffer, "ssh", "import", link, "--remove-original"], expected=None)
        check(b"symbolic link" in done.stderr and done.returncode == 11 and os.path.exists(weak), f"{done}")
        done = world.run([coffer, "ssh", "import", os.path.join(world.home, "none")], expected=None)
        check(done.returncode != 0, "a missing file is imported")
        with open(os.path.join(world.home, "text"), "w") as file:
            file.write("text")
        done = world.run([coffer, "ssh", "import", os.path.join(world.home, "text")], expected=None)
        check(done.returncode != 0, "a text is imported")
        check(len(world.run([coffer, "key", "list"]).stdout.splitlines()) == 2, "something else is stored")
        check(os.listdir(world.runtime) == [], "a directory of the import is left")
    finally:
        world.close()


def openssl(coffer):
    """coffer key sign and public with OpenSSL; verify; names; removal."""
    world = World(coffer, passcode=False)
    try:
        for algorithm in ("p256", "p384", "ed25519"):
            world.run([coffer, "key", "generate", algorithm, "--algorithm", algorithm])
            public, text, signature = (os.path.join(world.home, name) for name in ("pem", "text", "signature"))
            with open(public, "wb") as file:
                file.write(world.run([coffer, "key", "public", algorithm, "--form", "pem"]).stdout)
            with open(text, "wb") as file:
                file.write(b"hello")
            with open(signature, "wb") as file:
                file.write(world.run([coffer, "key", "sign", algorithm, "--binary"], b"hello").stdout)
            if algorithm == "ed25519":
                verify = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", text,
                          "-sigfile", signature]
            else:
                digest = {"p256": "-sha256", "p384": "-sha384"}[algorithm]
                verify = ["openssl", "dgst", digest, "-verify", public, "-signature", signature, text]
            world.run(verify)
            printed = world.run([coffer, "key", "sign", algorithm], b"hello").stdout.decode().strip()
            world.run([coffer, "key", "verify", algorithm, "--signature", printed], b"hello")
            world.run([coffer, "key", "verify", algorithm, "--signature", printed], b"hellO", expected=7)
        world.run([coffer, "key", "rename", "p256", "first"])
        world.run([coffer, "key", "show", "p256"], expected=3)
        world.run([coffer, "key", "sign", "first"], b"hello")
        world.run([coffer, "key", "remove", "first"])
        world.run([coffer, "key", "sign", "first"], b"hello", expected=3)
        world.run([coffer, "key", "generate", "only", "--use", "ssh"])
        done = world.run([coffer, "key", "sign", "only"], b"x", expected=None)
        check(done.returncode != 0 and b"may not be used" in done.stderr, f"{done}")
    finally:
        world.close()


SCENARIOS = [login, signatures, ssh_add, confirm, transcript, hostile, command, imports, openssl, weak_keys, questions]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--coffer", required=True)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    chosen = arguments.only.split(",") if arguments.only else [scenario.__name__ for scenario in SCENARIOS]
    failed = 0
    for scenario in SCENARIOS:
        if scenario.__name__ not in chosen:
            continue
        try:
            scenario(os.path.abspath(arguments.coffer))
            print(scenario.__name__, "ok", flush=True)
        except Failed as error:
            failed += 1
            print(scenario.__name__, "FAILED:", error, flush=True)
        except Exception:
            failed += 1
            print(scenario.__name__, "FAILED:", traceback.format_exc(), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
