"""The module's border to C, and processes that end: calls that p11-kit does not make, threads, and signals."""

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import client as pkcs11
from client import ECDSA, OK, apart
from world import DEADLINE, World, check

HERE = os.path.dirname(os.path.abspath(__file__))
DECLARATIONS = os.path.join(HERE, "../../Sources/CPKCS11")
COMPILER = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I/usr/include/p11-kit-1"]


def layout(_):
    """The declarations are p11-kit's; other ones are noticed."""
    with tempfile.TemporaryDirectory() as folder:
        def compared(option):
            return subprocess.run([*COMPILER, *option, "-fsyntax-only", f"-I{folder}", f"{HERE}/layout.c"],
                                  capture_output=True, timeout=DEADLINE, check=False)

        shutil.copy(f"{DECLARATIONS}/shim.h", folder)
        with open(f"{folder}/shim.h", encoding="utf-8") as stream:
            text = stream.read()
        changes = (([], "unsigned long session_count;", "unsigned short session_count;"),
                   (["-DCOFFER_PKCS11_HEADERS"], "(*C_Logout)(unsigned long)", "(*C_Logout)(void *)"))
        for option, old, new in changes:
            done = compared(option)
            check(done.returncode == 0, done.stderr.decode())
        for option, old, new in changes:
            check(text.count(old) == 1, f"no {old}")
            with open(f"{folder}/shim.h", "w", encoding="utf-8") as stream:
                stream.write(text.replace(old, new))
            done = compared(option)
            check(done.returncode != 0 and b"static assertion failed" in done.stderr, f"not noticed: {new}")


def misuse(coffer):
    """Null pointers, wrong sizes, wrong orders and threads, by misuse.c in the place of p11-kit's library."""
    world = World(coffer, passcode=False)
    try:
        world("key", "generate", "work", "--algorithm", "p256", "--use", "sign")
        world("key", "generate", "other", "--algorithm", "ed25519", "--use", "sign")
        library = f"{world.site}/libp11-kit.so.0"
        done = subprocess.run([*COMPILER, "-shared", "-fPIC", "-pthread", f"{HERE}/misuse.c", "-o", library],
                              capture_output=True, timeout=DEADLINE, check=False)
        check(done.returncode == 0, done.stderr.decode())
        os.chmod(library, 0o755)
        done = world.run([coffer, "pkcs11", "serve"], expected=None, extra={"LD_LIBRARY_PATH": world.site})
        check(done.returncode == 0 and done.stdout == b"ok\n", f"{done}")
    finally:
        world.close()


def threads(coffer):
    """Threads of a client sign at once through p11-kit, each in its session, and in one that another closes."""
    world = World(coffer, passcode=False)
    try:
        world("key", "generate", "work", "--algorithm", "p256", "--use", "sign")
        apart(world, threaded)
    finally:
        world.close()


def threaded(client):
    shared = client.session()
    key, wrong = client.private(shared, "work"), []

    def work(own):
        for _ in range(5):
            code, signature = client.sign(own, ECDSA, key, b"x" * 32)
            if code != OK or len(signature) != 64:
                wrong.append(code)
            code = client.sign(shared, ECDSA, key, b"x" * 32)[0]
            if code not in (OK, pkcs11.ACTIVE, pkcs11.NOT_BEGUN, pkcs11.SESSION_HANDLE):
                wrong.append(code)

    all_threads = [threading.Thread(target=work, args=(client.session(),)) for _ in range(6)]
    for thread in all_threads:
        thread.start()
    client.call("CloseSession", shared)
    for thread in all_threads:
        thread.join(DEADLINE)
        assert not thread.is_alive(), "a thread waits for ever"
    assert not wrong, [hex(code) for code in wrong]
    assert client.sign(client.session(), ECDSA, key, b"x" * 32)[0] == OK


def ends(coffer):
    """A client lives on when the module is killed, and the module ends with its client and by signals."""
    world = World(coffer, passcode=False)
    try:
        world("key", "generate", "work", "--algorithm", "p256", "--use", "sign")
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            apart(world, lambda client, number=number: killed(client, number))
        apart(world, left)
    finally:
        world.close()


def children(parent):
    """The processes that a process started and that run."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stream:
                state, above = stream.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(above) == parent and state not in "ZX":
            found.append(int(name))
    return found


def is_running(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stream:
            return stream.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def until_ended(process):
    end = time.monotonic() + DEADLINE
    while is_running(process):
        assert time.monotonic() < end, "the module did not end"
        time.sleep(0.02)


def killed(client, number):
    session = client.session()
    key = client.private(session, "work")
    assert client.sign(session, ECDSA, key, b"x" * 32)[0] == OK
    servers = children(os.getpid())
    assert servers, "no module is running"
    for server in servers:
        os.kill(server, number)
        until_ended(server)
    assert client.sign(session, ECDSA, key, b"x" * 32)[0] != OK
    client.call("Finalize", None)
    again = pkcs11.Client()
    session = again.session()
    assert again.sign(session, ECDSA, again.private(session, "work"), b"x" * 32)[0] == OK


def left(client):
    """The client is killed, not the module."""
    client.expect(OK, "Finalize", None)
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            own = pkcs11.Client()
            assert own.sign(own.session(), ECDSA, own.private(own.session(), "work"), b"x" * 32)[0] == OK
            os.write(write, " ".join(map(str, children(os.getpid()))).encode() + b"\n")
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        servers = stream.read().split()
    os.waitpid(child, 0)
    assert servers, "no module was running"
    for server in servers:
        until_ended(int(server))
