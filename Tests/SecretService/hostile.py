#!/usr/bin/python3
"""Programs that send `coffer serve` what they should not: it answers everybody else, and does not grow.

Usage: hostile.py COFFER
"""
import os
import random
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import dbus  # noqa: E402
from gi.repository import Gio, GLib  # noqa: E402

import laws  # noqa: E402
from client import DEFAULT, DH, NAME, ROOT, SECRET, Client, Refused  # noqa: E402
from laws import own, refused  # noqa: E402
from services import Coffer  # noqa: E402


def memory(service):
    """The service's resident memory in MiB."""
    with open(f"/proc/{service.service.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1024


def works(service):
    """Checks that a new program is served."""
    assert service.service.poll() is None, f"the service ended with {service.service.returncode}"
    client = Client(service.address)
    item = client.create(own(), b"works")
    assert client.get(item) == b"works"
    client.delete(item)
    client.close()


def connect(service):
    flags = Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION
    return Gio.DBusConnection.new_for_address_sync(service.address, flags, None, None)


def many_sessions(service):
    client = Client(service.address)
    opened = 0
    for number in range(10_000):
        try:
            client.plain() if number % 10 else client.open(DH, b"\x08")
            opened += 1
        except Refused as error:
            assert error.name == "LimitsExceeded", error
    assert 0 < opened <= 1024, opened
    works(service)
    client.close()
    others = [Client(service.address) for _ in range(3)]
    for other in others:
        other.encrypted()
        other.close()
    works(service)


def sessions_of_four(service):
    """Connections that open all the sessions they can get leave some for others, and free theirs when they go."""
    reader = Client(service.address)
    item = reader.create(own(), b"read")
    reader.close()

    def fill(client):
        opened = 0
        while True:
            try:
                client.plain() if opened % 8 else client.open(DH, b"\x08")
                opened += 1
            except Refused as error:
                assert error.name == "LimitsExceeded", error
                return opened
    greedy = [Client(service.address) for _ in range(4)]
    taken = [fill(client) for client in greedy]
    assert taken[0] == 256 and sum(taken) < 800, taken
    for _ in range(20):
        other = Client(service.address)
        assert other.unseal(other.call(item, "Item", "GetSecret", "o", other.encrypted())) == b"read"
        assert other.get(item) == b"read"
        other.close()
    for client in greedy:
        client.close()
    late = Client(service.address)
    assert fill(late) == 256
    late.close()
    works(service)


def many_connections(service):
    connections = []
    try:
        for _ in range(1000):
            connections.append(connect(service))
            connections[-1].call_sync(
                NAME, ROOT, SECRET + "Service", "ReadAlias", GLib.Variant("(s)", ("default",)), None,
                Gio.DBusCallFlags.NONE, 30000, None)
    except GLib.Error as error:
        # The bus has a limit of its own.
        assert "LimitsExceeded" in error.message, error.message
    assert len(connections) >= 200, len(connections)
    for connection in connections:
        connection.close_sync(None)
    works(service)


def many_descriptors(service):
    """A call with file descriptors is refused at once, so that those of waiting calls do not pile up."""
    works(service)
    folder = f"/proc/{service.service.pid}/fd"
    # The service opens files for a moment when it looks at the vault.
    before = min(len(os.listdir(folder)) for _ in range(50))
    connection = connect(service)
    null = os.open(os.devnull, os.O_RDONLY)
    descriptors = Gio.UnixFDList()
    for _ in range(16):
        descriptors.append(null)
    os.close(null)
    answers = []
    highest = before

    def note(_, result, number):
        answer = connection.send_message_with_reply_finish(result)
        if answer.get_sender() == "org.freedesktop.DBus":
            # The bus has a limit, too, on what it has not handed over yet.
            send(number)
        else:
            answers.append(answer.get_error_name() or "none")

    def send(number):
        message = Gio.DBusMessage.new_method_call(NAME, ROOT, SECRET + "Service", "SearchItems")
        # Half of the calls have an argument that refers to a descriptor.
        message.set_body(
            GLib.Variant("(h)", (0,)) if number % 2 else GLib.Variant("(a{ss})", ({"a": str(number)},)))
        message.set_unix_fd_list(descriptors)
        connection.send_message_with_reply(message, Gio.DBusSendMessageFlags.NONE, 60_000, None, note, number)
    calls = 2000
    for number in range(calls):
        send(number)
    while len(answers) < calls:
        GLib.MainContext.default().iteration(True)
        highest = max(highest, len(os.listdir(folder)))
    assert set(answers) == {"org.freedesktop.DBus.Error.InvalidArgs"}, set(answers)
    # One message is in work at a time.
    assert highest <= before + 64, f"{before} descriptors, {highest} during the calls"
    for _ in range(calls):
        signal = Gio.DBusMessage.new_signal(ROOT, SECRET + "Service", "CollectionChanged")
        signal.set_destination(NAME)
        signal.set_unix_fd_list(descriptors)
        connection.send_message(signal, Gio.DBusSendMessageFlags.NONE)
    connection.flush_sync(None)
    connection.close_sync(None)
    works(service)
    end = time.monotonic() + 20
    while len(os.listdir(folder)) > before:
        assert time.monotonic() < end, f"{before} descriptors, then {len(os.listdir(folder))}"
        time.sleep(0.01)


def huge_messages(service):
    connection = connect(service)
    before = memory(service)
    huge = GLib.Variant.new_tuple(
        GLib.Variant("a{sv}", {}),
        GLib.Variant.new_tuple(
            GLib.Variant.new_object_path(ROOT + "/session/s1"),
            GLib.Variant.new_from_bytes(GLib.VariantType("ay"), GLib.Bytes.new(b""), True),
            GLib.Variant.new_from_bytes(GLib.VariantType("ay"), GLib.Bytes.new(bytes(64 << 20)), True),
            GLib.Variant("s", "text/plain")),
        GLib.Variant("b", False))
    for _ in range(3):
        try:
            connection.call_sync(
                NAME, DEFAULT, SECRET + "Collection", "CreateItem", huge, None, Gio.DBusCallFlags.NONE,
                60000, None)
            raise AssertionError("64 MiB were accepted")
        except GLib.Error as error:
            assert "LimitsExceeded" in error.message or connection.is_closed(), error.message
        if connection.is_closed():
            connection = connect(service)
    works(service)
    assert memory(service) < before + 200, f"{memory(service)} MiB"


def never_reads(service):
    """Sends calls and reads no answer, until nothing more can be sent."""
    path = service.address.split("=", 1)[1]
    peer = socket.socket(socket.AF_UNIX)
    peer.connect(path)
    peer.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
    assert peer.recv(1000).startswith(b"OK")
    peer.sendall(b"BEGIN\r\n")
    hello = message(1, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello")
    peer.sendall(hello)
    peer.settimeout(5)
    call = message(2, NAME, ROOT + "/collection", "org.freedesktop.DBus.Introspectable", "Introspect")
    try:
        for _ in range(20_000):
            peer.sendall(call)
    except OSError:
        pass
    works(service)
    peer.close()
    works(service)


def message(serial, destination, path, interface, member):
    header = b"l\x01\x00\x01" + (0).to_bytes(4, "little") + serial.to_bytes(4, "little")
    fields = b""
    for code, kind, text in [(1, b"o", path), (2, b"s", interface), (3, b"s", member), (6, b"s", destination)]:
        fields += bytes(-len(fields) % 8)
        fields += bytes([code]) + b"\x01" + kind + b"\0" + len(text).to_bytes(4, "little") + text.encode() + b"\0"
    whole = header + len(fields).to_bytes(4, "little") + fields
    return whole + bytes(-len(whole) % 8)


def random_calls(service):
    """Random typed calls at every object."""
    random.seed(7)
    client = Client(service.address)
    item = client.create(own(), b"target")
    collection = client.alias("default")
    session = client.plain()
    paths = [
        ROOT, collection, DEFAULT, item, session, ROOT + "/collection", "/", "/x", ROOT + "/prompt/p1",
        ROOT + "/collection/session", DEFAULT + "/" + item.rsplit("/", 1)[1],
    ]
    interfaces = {
        "Service": ["OpenSession", "CreateCollection", "SearchItems", "Unlock", "GetSecrets", "ReadAlias",
                    "SetAlias"],
        "Collection": ["SearchItems", "CreateItem"], "Item": ["GetSecret", "SetSecret"],
        "Session": ["Close"], "Prompt": ["Prompt", "Dismiss"], "": ["Nothing"],
        "org.freedesktop.DBus.Properties": ["Get", "GetAll", "Set"],
        "org.freedesktop.DBus.Introspectable": ["Introspect"],
    }
    answers = 0
    connection = connect(service)
    for _ in range(3000):
        interface = random.choice(list(interfaces))
        member = random.choice(interfaces[interface])
        name = interface if "." in interface else SECRET + (interface or "Service")
        arguments = GLib.Variant.new_tuple(*[value(paths) for _ in range(random.randint(0, 4))])
        try:
            connection.call_sync(
                NAME, random.choice(paths), name, member, arguments, None, Gio.DBusCallFlags.NONE, 30000, None)
            answers += 1
        except GLib.Error as error:
            assert "NoReply" not in error.message and "imeout" not in error.message, error.message
        if connection.is_closed():
            connection = connect(service)
    works(service)
    assert client.get(item) is not None or answers > 0


def value(paths, depth=0):
    kind = random.randint(0, 11 if depth < 3 else 6)
    if kind == 0:
        return GLib.Variant("s", random.choice(["", "plain", DH, "Label", SECRET + "Item", "x" * 5000, "é"]))
    if kind == 1:
        return GLib.Variant("o", random.choice(paths))
    if kind == 2:
        return GLib.Variant("b", random.random() < 0.5)
    if kind == 3:
        return GLib.Variant("ay", os.urandom(random.choice([0, 1, 16, 128, 129])))
    if kind == 4:
        return GLib.Variant("ao", random.choices(paths, k=random.randint(0, 5)))
    if kind == 5:
        return GLib.Variant("a{ss}", {random.choice("abc"): "x" for _ in range(random.randint(0, 3))})
    if kind == 6:
        return random.choice([
            GLib.Variant("u", 2**32 - 1), GLib.Variant("t", 2**64 - 1), GLib.Variant("x", -1),
            GLib.Variant("d", 0.5), GLib.Variant("y", 255), GLib.Variant("g", "a{sv}")])
    if kind in (7, 8):
        return GLib.Variant.new_variant(value(paths, depth + 1))
    if kind == 9:
        return GLib.Variant("(oayays)", (random.choice(paths), os.urandom(16), os.urandom(16), "text"))
    if kind == 10:
        return GLib.Variant("a{sv}", {
            SECRET + "Item.Label": value(paths, 3), SECRET + "Item.Attributes": value(paths, depth + 1)})
    return GLib.Variant.new_tuple(value(paths, depth + 1), value(paths, depth + 1))


def many_values(service):
    """Values take far more memory than in a message: their number is limited."""
    before = memory(service)
    connection = connect(service)

    def ask(member, value):
        try:
            connection.call_sync(
                NAME, ROOT, SECRET + "Service", member, value, None, Gio.DBusCallFlags.NONE, 60_000, None)
        except GLib.Error as error:
            return error.message
        return ""
    structures = GLib.Variant("(a(y))", ([(0,)] * (1 << 17),))
    pairs = GLib.Variant("(a{ss})", ({"%x" % number: "" for number in range(100_000)},))
    inside = GLib.Variant("(sv)", ("plain", GLib.Variant("a(y)", [(0,)] * (1 << 17))))
    for member, value in [("SearchItems", structures), ("SearchItems", pairs), ("OpenSession", inside)]:
        message = ask(member, value)
        assert "LimitsExceeded" in message, message
    assert "InvalidArgs" in ask("SearchItems", GLib.Variant(
        "(a{ss})", ({"%x" % number: "" for number in range(2000)},)))
    connection.close_sync()
    assert memory(service) < before + 100, (before, memory(service))
    works(service)


def many_attributes(service):
    """An item has as many attributes in memory as on the disk."""
    client = Client(service.address)
    session = client.plain()
    for collection in ("login", "session"):
        for attributes in ({"%x" % number: "" for number in range(1025)}, {"a": "x" * 70_000}):
            refused("InvalidArgs", lambda: client.create(
                attributes, b"x", collection=f"{ROOT}/collection/{collection}", session=session))
    works(service)


def many_items_in_memory(service):
    """The collection in memory is bounded: its secrets take guarded pages."""
    client = Client(service.address)
    session = client.plain()
    collection = ROOT + "/collection/session"

    def fill():
        for number in range(2000):
            client.create({"n": str(number)}, b"x", collection=collection, session=session)
    refused("LimitsExceeded NoMemory", fill)
    works(service)


def aliases_of_memory(service):
    """No alias on the disk is that of the collection in memory, which a record on the disk does not have."""
    client = Client(service.address)
    item = client.create(own(), b"kept")
    for path in ("collection/session", "aliases/session"):
        refused("NotSupported", lambda: client.call(
            ROOT, "Service", "SetAlias", "so", "default", dbus.ObjectPath(f"{ROOT}/{path}")))
    service.restart()
    assert Client(service.address).get(item) == b"kept"
    works(service)


def record_with_an_alias_of_memory(service):
    """A list of collections with an alias of the one in memory, as once written, is read without that alias."""
    client = Client(service.address)
    client.call(ROOT, "Service", "SetAlias", "so", "other", client.alias("default"))

    def token(verb, **options):
        words = [service.coffer, "token", verb, "secret-service", "collections", "--kind", "other"]
        return subprocess.run(
            [*words, "--home", service.home], env=service.environment, check=True, capture_output=True,
            timeout=60, **options).stdout
    record = token("get", stdin=subprocess.DEVNULL)
    place = record.index(b"\0\0\0\7default") - 2
    count = int.from_bytes(record[place:place + 2], "big") + 1
    alias = b"".join(len(text).to_bytes(4, "big") + text for text in (b"memory", b"session"))
    token("put", input=record[:place] + count.to_bytes(2, "big") + record[place + 2:] + alias)
    service.restart()
    client = Client(service.address)
    assert client.alias("memory") == "/" and client.alias("other") == client.alias("default") != "/"
    works(service)


def repeated_paths(service):
    """A secret that a call asks for many times is read once."""
    client = Client(service.address)
    item = client.create(own(), b"once")
    assert len(client.secrets([item] * 20_000, client.plain())) == 1
    works(service)


def bus_ends(service):
    """Without its bus, the service ends and says so."""
    service.daemon.kill()
    assert service.service.wait(timeout=30) == 8


if __name__ == "__main__":
    with Coffer(sys.argv[1]) as service:
        for test in [
            many_sessions, sessions_of_four, many_connections, many_descriptors, huge_messages, never_reads,
            random_calls, many_values, many_attributes, many_items_in_memory, aliases_of_memory,
            record_with_an_alias_of_memory, repeated_paths, bus_ends,
        ]:
            try:
                test(service)
            except BaseException:
                print(f"In {test.__name__}:", file=sys.stderr)
                raise
