#!/usr/bin/python3
"""Prompts of `coffer serve`, and what a lock, an unlock, a wipe and a restart do to it.

Usage: prompts.py COFFER
"""
import ctypes
import json
import os
import sys
import time
from signal import SIGCONT, SIGSTOP

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import dbus  # noqa: E402

import laws  # noqa: E402
from client import DEFAULT, ROOT, SECRET, Client  # noqa: E402
from laws import own, refused  # noqa: E402
from services import Coffer, retry  # noqa: E402

PASSCODE = "2468"


def completed(client, prompt):
    """Waits for the end of a prompt; returns whether it was dismissed, and its result."""
    signal = client.wait(lambda path, member, *_: path == prompt and member == "Completed")
    assert signal[3] is not None, "the signal was not sent to its owner alone"
    return bool(signal[2][0]), signal[2][1]


def show(client, prompt):
    client.call(prompt, "Prompt", "Prompt", "s", "")


def locked(client):
    collection = client.alias("default")
    client.lock(collection)
    assert client.property(collection, "Collection", "Locked")
    return collection


def has_kernel_keyring(service):
    return service.run("unlock", check=False).returncode == 0


def dismissed_at_once(coffer):
    """With interaction never, a prompt ends as soon as it is shown."""
    with Coffer(coffer, PASSCODE, "never") as service:
        a, b = Client(service.address), Client(service.address)
        collection = a.alias("default")
        assert a.property(collection, "Collection", "Locked")
        unlocked, prompt = a.unlock(collection)
        assert list(unlocked) == [] and prompt != "/"
        # Only the owner can use it, and only the owner is told.
        refused(laws.GONE, lambda: show(b, prompt))
        show(a, prompt)
        assert completed(a, prompt) == (True, [])
        b.settle()
        assert not any(member == "Completed" for _, member, *_ in b.signals)
        refused(laws.GONE, lambda: show(a, prompt))
        # Everything that needs an unlock gives a prompt that ends.
        path, prompt = a.new_collection("Other")
        assert path == "/"
        show(a, prompt)
        assert completed(a, prompt)[0]
        item = a.create(own(), b"while locked")
        prompt = a.delete(item)
        assert prompt != "/"
        a.call(prompt, "Prompt", "Dismiss")
        assert completed(a, prompt)[0]
        prompt = a.call(DEFAULT, "Collection", "Delete")
        assert prompt != "/"
        a.call(prompt, "Prompt", "Dismiss")
        assert completed(a, prompt)[0]
        # Prompts are bounded.
        refused("LimitsExceeded", lambda: [a.unlock(collection) for _ in range(100)])
        b.unlock(collection)
        # The prompts of a connection that leaves make room.
        a.close()
        c = Client(service.address)
        retry_limit(lambda: c.unlock(collection))


def retry_limit(body):
    def attempt():
        try:
            return body()
        except laws.Refused as error:
            raise dbus.exceptions.DBusException(str(error)) from None
    return retry(attempt)


def completed_by_another_shell(coffer):
    """`coffer unlock` ends waiting prompts; `coffer lock` locks the service."""
    with Coffer(coffer, PASSCODE) as service:
        if not has_kernel_keyring(service):
            print("There is no kernel keyring: the prompts that wait for coffer unlock are not tested.")
            return
        service.run("lock")
        a, b = Client(service.address), Client(service.address)
        collection = a.alias("default")
        a.wait_property(collection, True)
        attributes = own(user="me")
        item = a.create(attributes, b"stored while locked")
        assert a.search(attributes) == ([], [item])
        prompts = [a.unlock(collection)[1], b.unlock(item)[1]]
        made = b.new_collection("Made by a prompt", "made")[1]
        for client, prompt in [(a, prompts[0]), (b, prompts[1]), (b, made)]:
            show(client, prompt)
        service.run("unlock")
        assert completed(a, prompts[0]) == (False, [collection])
        assert completed(b, prompts[1]) == (False, [item])
        is_dismissed, path = completed(b, made)
        assert not is_dismissed and a.alias("made") == path
        assert a.get(item) == b"stored while locked"
        assert a.property(item, "Item", "Attributes")["user"] == "me"
        # A lock in another shell.
        service.run("lock")
        a.wait_property(collection, True)
        refused("IsLocked", lambda: a.get(item))
        # The service is restarted while it is locked: items are still found by their attributes.
        service.restart()
        c = Client(service.address)
        assert c.search(attributes) == ([], [item])
        assert c.search({**attributes, "user": "you"}) == ([], [])
        assert c.property(path, "Collection", "Label") == "Made by a prompt"
        pending = c.create(own(n="2"), b"after the restart")
        service.restart()
        d = Client(service.address)
        assert pending in d.search({})[1]
        prompt = d.unlock(d.alias("default"))[1]
        show(d, prompt)
        service.run("unlock")
        assert not completed(d, prompt)[0]
        assert d.get(pending) == b"after the restart" and d.get(item) == b"stored while locked"
        service.run("lock")


def locked_by_another_shell(coffer):
    """From the moment at which another shell's lock returns, no secret is given."""
    with Coffer(coffer, PASSCODE) as service:
        if not has_kernel_keyring(service):
            return
        service.run("unlock")
        a = Client(service.address)
        a.wait_property(DEFAULT, False)
        session, item = a.plain(), a.create(own(), b"kept")
        for _ in range(5):
            assert a.get(item, session) == b"kept"
            service.run("lock")
            refused("IsLocked", lambda: a.get(item, session))
            paths = dbus.Array([item], signature="o")
            assert a.call(ROOT, "Service", "GetSecrets", "aoo", paths, session) == {}
            service.run("unlock")
            a.wait_property(DEFAULT, False)


def unlink_key(service, name):
    """Removes one of the vault's class keys from the kernel keyring of this user."""
    vault = json.loads(service.run("status", "--json").stdout)["vaultID"]
    library = ctypes.CDLL(None, use_errno=True)
    keyring, keyctl, unlink, search = -4, 250, 9, 10
    key = library.syscall(keyctl, search, keyring, b"user", f"coffer:{vault}:{name}".encode(), 0)
    assert key > 0 and library.syscall(keyctl, unlink, key, keyring) == 0, os.strerror(ctypes.get_errno())


def unlock_seen_halfway(coffer):
    """A service that looked when another shell's unlock had stored a part of the keys takes the rest, too."""
    with Coffer(coffer, PASSCODE) as service:
        if not has_kernel_keyring(service):
            return
        a = Client(service.address)
        a.wait_property(DEFAULT, False)
        session, item = a.plain(), a.create(own(), b"kept")
        service.run("lock")
        a.wait_property(DEFAULT, True)
        service.service.send_signal(SIGSTOP)
        service.run("unlock")
        unlink_key(service, "whenUnlockedThisDeviceOnly")
        service.service.send_signal(SIGCONT)
        # The service looks at most five times a second, when it is called.
        end = time.monotonic() + 0.7
        while time.monotonic() < end:
            assert a.property(DEFAULT, "Collection", "Locked")
        service.run("unlock")
        a.wait_property(DEFAULT, False)
        assert a.get(item, session) == b"kept"


def others_changes(coffer):
    """What other commands change in the vault shows on the bus."""
    with Coffer(coffer) as service:
        a = Client(service.address)
        item = a.create(own(), b"removed by another program")
        name = item.rsplit("/", 1)[1]
        service.run("token", "remove", "secret-service/login", name, "--kind", "other")
        a.wait(lambda path, member, values, _: member == "ItemDeleted" and values[0] == item)
        refused(laws.GONE, lambda: a.get(item))
        # The index of a newer release stays as it is, and the service says so.
        index = os.path.join(service.home, "vault", "served-index")
        newer = b"COFFERV1\x00\x02 of a newer release"
        with open(index, "wb") as file:
            file.write(newer)
        item = a.create(own(), b"stored nevertheless")
        assert a.get(item) == b"stored nevertheless"
        a.lock(a.alias("default"))
        with open(index, "rb") as file:
            assert file.read() == newer
        a.unlock(a.alias("default"))
        # A damaged index is no loss.
        kept = own()
        item = a.create(kept, b"kept")
        service.kill()
        with open(index, "wb") as file:
            file.write(b"COFFERV1\x00\x01 and then nothing that was sealed")
        service.serve()
        b = Client(service.address)
        assert b.search(kept)[0] == [item] and b.get(item) == b"kept"


def wiped(coffer):
    """After a wipe, every object is gone, and the service ends with 6."""
    with Coffer(coffer) as service:
        a = Client(service.address)
        item = a.create(own(), b"to be wiped")
        collection = a.alias("default")
        service.run("wipe", "--yes")
        a.wait(lambda path, member, values, _: member == "CollectionDeleted" and values[0] == collection)
        assert service.service.wait(timeout=30) == 6
        service.wait_until_gone()
        try:
            a.get(item)
            raise AssertionError("a wiped secret was read")
        except laws.Refused:
            pass


def wait_property(self, collection, value):
    def check():
        if bool(self.property(collection, "Collection", "Locked")) != value:
            raise dbus.exceptions.DBusException("not yet")
    retry(check)


Client.wait_property = wait_property

if __name__ == "__main__":
    for test in [
        dismissed_at_once, completed_by_another_shell, locked_by_another_shell, unlock_seen_halfway,
        others_changes, wiped,
    ]:
        try:
            test(sys.argv[1])
        except BaseException:
            print(f"In {test.__name__}:", file=sys.stderr)
            raise
