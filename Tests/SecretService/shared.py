#!/usr/bin/python3
"""Two services on one vault, as a desktop's and one of `coffer serve -- COMMAND`: neither undoes what the other did.

Usage: shared.py COFFER
"""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import dbus  # noqa: E402

from client import NAME, ROOT, SECRET, Client  # noqa: E402
from laws import refused  # noqa: E402
from services import Bus, Coffer  # noqa: E402

PROPERTIES = "org.freedesktop.DBus.Properties"


def properties(client, path, interface="Item"):
    return client.call(path, PROPERTIES, "GetAll", "s", SECRET + interface)


def change(client, path, name, value, interface="Item"):
    client.call(path, PROPERTIES, "Set", "ssv", SECRET + interface, name, value)


def find(client, **attributes):
    return list(client.call(ROOT, "Service", "SearchItems", "a{ss}", client.attributes(attributes))[0])


def eventually(condition, text):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, text
        time.sleep(0.05)


def attributes_stay(one, two):
    """A secret that one service stores keeps the label and the attributes that the other gave."""
    item = one.create({"a": "1"}, b"one", label="old")
    eventually(lambda: find(two, a="1") == [item], "the other service does not find a new item")
    change(one, item, "Label", dbus.String("new", variant_level=1))
    change(one, item, "Attributes", dbus.Dictionary({"a": "2"}, signature="ss", variant_level=1))
    two.call(item, "Item", "SetSecret", "(oayays)", two.secret(two.plain(), b"two"))
    for client in (one, two):
        eventually(lambda: find(client, a="2") == [item] and find(client, a="1") == [], "the attributes are lost")
        found = properties(client, item)
        assert found["Label"] == "new" and dict(found["Attributes"]) == {"a": "2"}, found
        assert client.get(item) == b"two"
    change(two, item, "Label", dbus.String("newest", variant_level=1))
    eventually(lambda: properties(one, item)["Label"] == "newest", "a label of the other service does not appear")


def secrets_stay(one, two):
    """A secret that one service stores outlasts a change of the label by the other at the same moment."""
    item = one.create({"s": "1"}, b"first")
    eventually(lambda: find(two, s="1") == [item], "the other service does not find a new item")
    session = two.plain()
    for number in range(40):
        ends = []
        one.bus.call_async(
            NAME, item, PROPERTIES, "Set", "ssv",
            (SECRET + "Item", "Label", dbus.String(f"label {number}", variant_level=1)),
            lambda: ends.append(None), ends.append, timeout=30)
        one.bus.flush()
        two.set(item, b"secret %d" % number, session)
        one.settle()
        assert ends == [None], f"the label is not changed: {ends}"
        found = two.get(item, session)
        assert found == b"secret %d" % number, f"the secret {number} became {found}"
    for client in (one, two):
        eventually(lambda: properties(client, item)["Label"] == "label 39", "the label is lost")


def removed_stay_removed(one, two):
    item = one.create({"gone": "1"}, b"x")
    eventually(lambda: find(two, gone="1") == [item], "the other service does not find a new item")
    one.delete(item)
    refused("NoSuchObject UnknownObject", lambda: two.call(
        item, "Item", "SetSecret", "(oayays)", two.secret(two.plain(), b"y")))
    assert find(one, gone="1") == [] and find(two, gone="1") == []


def exchanged_items(one, two):
    """One item fewer and one more: the number of items is the same."""
    item = one.create({"x": "1"}, b"x")
    eventually(lambda: find(two, x="1") == [item], "the other service does not find a new item")
    one.delete(item)
    other = one.create({"y": "1"}, b"y")
    eventually(lambda: find(two, y="1") == [other], "an exchanged item is not found")


def collections_stay(one, two):
    def create(client, label, alias):
        values = dbus.Dictionary({SECRET + "Collection.Label": dbus.String(label, variant_level=1)}, signature="sv")
        return client.call(ROOT, "Service", "CreateCollection", "a{sv}s", values, alias)[0]
    first, second = create(one, "first", "one"), create(two, "second", "two")
    for client in (one, two):
        for alias, path in (("one", first), ("two", second)):
            eventually(lambda: client.call(ROOT, "Service", "ReadAlias", "s", alias) == path, "an alias is lost")
    for client in (one, two):
        assert properties(client, first, "Collection")["Label"] == "first"
        assert properties(client, second, "Collection")["Label"] == "second"


def main():
    with Coffer(sys.argv[1]) as service, Bus() as other:
        process = other.start([service.coffer, "serve", "--home", service.home])
        other.wait_for_service(process)
        one, two = Client(service.address), Client(other.address)
        for test in [attributes_stay, secrets_stay, removed_stay_removed, exchanged_items, collections_stay]:
            try:
                test(one, two)
            except BaseException:
                print(f"In {test.__name__}:", file=sys.stderr)
                raise


if __name__ == "__main__":
    main()
