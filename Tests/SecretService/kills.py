#!/usr/bin/python3
"""Kills `coffer serve` while programs store, change, delete and lock, and looks at what is left.

Usage: kills.py COFFER ROUNDS

Whatever was acknowledged is there after the restart; whatever was not is there as a whole or not at all.
"""
import os
import random
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import dbus  # noqa: E402

from client import NAME, SECRET, Client  # noqa: E402
from laws import own  # noqa: E402
from services import Coffer  # noqa: E402


class Writer(threading.Thread):
    """A program that changes items until the service is gone, and keeps a record of the answers."""

    def __init__(self, address, state):
        super().__init__()
        self.client = dbus.bus.BusConnection(address)
        self.state = state
        self.asked = None
        self.acknowledged = 0

    def call(self, path, interface, member, signature, *arguments):
        return self.client.call_blocking(
            NAME, path, SECRET + interface, member, signature, arguments, timeout=30, byte_arrays=True)

    def run(self):
        try:
            session = self.call(
                "/org/freedesktop/secrets", "Service", "OpenSession", "sv", "plain",
                dbus.String("", variant_level=1))[1]
            while True:
                self.step(session)
        except dbus.exceptions.DBusException:
            pass

    def step(self, session):
        what = random.choice(["create", "create", "set", "delete", "lock"])
        value = os.urandom(random.choice([8, 200, 20000]))
        secret = Client.secret(session, value)
        known = sorted(self.state)
        if what == "create" or not known:
            attributes = own()
            self.asked = ("create", attributes["law"], value)
            properties = dbus.Dictionary(
                {SECRET + "Item.Attributes": dbus.Dictionary(attributes, signature="ss", variant_level=1)},
                signature="sv")
            path = self.call(
                "/org/freedesktop/secrets/aliases/default", "Collection", "CreateItem", "a{sv}(oayays)b",
                properties, secret, False)[0]
            self.state[str(path)] = (attributes["law"], value)
        elif what == "set":
            path = random.choice(known)
            self.asked = ("set", path, value)
            self.call(path, "Item", "SetSecret", "(oayays)", secret)
            self.state[path] = (self.state[path][0], value)
        elif what == "delete":
            path = random.choice(known)
            self.asked = ("delete", path, None)
            self.call(path, "Item", "Delete", "")
            del self.state[path]
        else:
            self.asked = ("lock", None, None)
            paths = dbus.Array(["/org/freedesktop/secrets/aliases/default"], signature="o")
            self.call("/org/freedesktop/secrets", "Service", "Lock", "ao", paths)
            self.call("/org/freedesktop/secrets", "Service", "Unlock", "ao", paths)
        self.asked = None
        self.acknowledged += 1


def check(client, state, asked):
    """Compares what is stored with what was acknowledged, and takes over what was not."""
    kind, name, value = asked or (None, None, None)
    session = client.plain()
    found = {str(path) for path in client.search({})[0]}
    for path, (law, old) in list(state.items()):
        if kind == "delete" and path == name and path not in found:
            del state[path]
            continue
        assert path in found, f"{path} was acknowledged and is gone"
        stored = client.get(path, session)
        allowed = [old, value] if kind == "set" and path == name else [old]
        assert stored in allowed, f"{path} has another secret"
        state[path] = (law, stored)
        assert [str(at) for at in client.search({"law": law})[0]] == [path]
    for path in found - set(state):
        assert kind == "create", f"{path} was deleted and is back"
        assert client.search({"law": name})[0] == [path] and client.get(path, session) == value
        state[path] = (name, value)


def main(coffer, rounds):
    random.seed(20)
    acknowledged = kills = 0
    state = {}
    with Coffer(coffer) as service:
        for _ in range(rounds):
            writer = Writer(service.address, state)
            writer.start()
            writer.join(random.uniform(0.002, 0.25))
            service.kill()
            writer.join(60)
            assert not writer.is_alive(), "a program hangs"
            acknowledged += writer.acknowledged
            kills += writer.asked is not None
            service.serve()
            client = Client(service.address)
            client.unlock(client.alias("default"))
            check(client, state, writer.asked)
            client.close()
    assert acknowledged > rounds and kills > 0, "nothing was killed in the middle"
    print(f"{rounds} kills, {kills} of them in the middle of a call; {acknowledged} calls acknowledged")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
