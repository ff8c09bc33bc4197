"""A private message bus, or a Secret Service on it that a test controls.

Usage: fake_secret_service.py bus DIRECTORY
       fake_secret_service.py service DIRECTORY

Both end when their standard input closes. The bus listens at DIRECTORY/bus. The service keeps its items in
DIRECTORY/items.json, so that it can be killed and restarted. It protects nothing: items are stored as received.
Needs dbus-daemon and the Python modules dbus and gi (python3-dbus, python3-gi).

In addition to the Secret Service, the process owns the name org.coffer.FakeSecretService with one method, Tell, which
takes a command in words and returns a text:

    lock | unlock               the collection
    answer completed|dismissed|never|none
                                the outcome of a prompt; none: there are no prompts
    asks CreateItem|Delete yes|no
                                whether these methods prompt before they act
    default yes|no              whether there is a default collection
    on METHOD before|after stop|die|ERROR [CALLS]
                                inject a fault into one call of METHOD, before or after its work; CALLS calls are
                                let through first
    count | copy | clear        how many items, make a copy of each, remove all of them
    prompts                     how many prompts were shown
"""
import base64
import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time

ROOT = "/org/freedesktop/secrets"
COLLECTION = ROOT + "/collection/login"
NOTHING = "/"
SECRET = "org.freedesktop.Secret."
PROPERTIES = "org.freedesktop.DBus.Properties"
CONTROL = "org.coffer.FakeSecretService"
CONFIGURATION = """<busconfig><type>session</type><listen>unix:path=%s/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
<allow own="*"/></policy></busconfig>"""


def end_with_input():
    """Ends this process when its standard input closes, whatever it is doing."""
    def wait():
        while os.read(0, 4096):
            pass
        os._exit(0)

    threading.Thread(target=wait, daemon=True).start()


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def run_bus(directory):
    path = os.path.join(directory, "bus.conf")
    with open(path, "w", encoding="utf-8") as file:
        file.write(CONFIGURATION % directory)
    bus = subprocess.Popen(
        ["dbus-daemon", "--config-file=" + path, "--nofork"], stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
    end_with_input()
    sys.exit(bus.wait())


def connect(dbus, address):
    """Connects to the bus, which may still be starting. If it never starts, the owner ends this process."""
    while True:
        try:
            return dbus.bus.BusConnection(address)
        except dbus.exceptions.DBusException:
            time.sleep(0.01)


def run_service(directory):
    end_with_input()
    import dbus
    import dbus.bus
    import dbus.mainloop.glib
    import dbus.service
    from gi.repository import GLib

    def error(name, text):
        return dbus.exceptions.DBusException(text, name=name)

    class State:
        """The state that outlives the process, and the settings of tests."""

        def __init__(self):
            self.path = os.path.join(directory, "items.json")
            self.items = {}
            self.number = 0
            self.locked = False
            self.answer = "completed"
            self.asks = set()
            self.has_default = True
            self.traps = {}
            self.shown = 0
            if os.path.exists(self.path):
                with open(self.path, encoding="utf-8") as file:
                    saved = json.load(file)
                self.items, self.number, self.locked = saved["items"], saved["number"], saved["locked"]
                self.has_default = saved["default"]

        def save(self):
            with open(self.path + ".new", "w", encoding="utf-8") as file:
                json.dump({
                    "items": self.items, "number": self.number, "locked": self.locked,
                    "default": self.has_default}, file)
            os.replace(self.path + ".new", self.path)

        def spring(self, method, moment):
            trap = self.traps.get((method, moment))
            if trap is None:
                return
            trap, calls = trap
            if calls > 0:
                self.traps[(method, moment)] = trap, calls - 1
                return
            del self.traps[(method, moment)]
            if trap == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            elif trap == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            else:
                raise error(trap, "As the test asked.")

        @contextlib.contextmanager
        def calling(self, method):
            self.spring(method, "before")
            yield
            self.save()
            self.spring(method, "after")

        def find(self, attributes):
            wanted = {str(name): str(value) for name, value in attributes.items()}
            return [
                path for path, item in self.items.items()
                if all(item["attributes"].get(name) == value for name, value in wanted.items())]

        def check_open(self):
            if self.locked:
                raise error(SECRET + "Error.IsLocked", "The collection is locked.")

    state = State()
    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = connect(dbus, "unix:path=" + os.path.join(directory, "bus"))
    exported = {}

    def path_of(path):
        return dbus.ObjectPath(path)

    def secret_of(path, session):
        value = base64.b64decode(state.items[path]["secret"])
        return dbus.Struct(
            (path_of(session), dbus.ByteArray(b""), dbus.ByteArray(value), "text/plain"), signature="oayays")

    class Node(dbus.service.Object):
        """An object with properties that its subclass defines."""

        def properties(self):
            return {}

        @dbus.service.method(PROPERTIES, "ss", "v")
        def Get(self, interface, name):
            with state.calling("Get"):
                if name not in self.properties():
                    raise error("org.freedesktop.DBus.Error.UnknownProperty", str(name))
                return self.properties()[name]

        @dbus.service.method(PROPERTIES, "s", "a{sv}")
        def GetAll(self, interface):
            return self.properties()

    class Prompt(Node):
        def __init__(self, path, action, nothing):
            super().__init__(bus, path)
            self.action = action
            self.nothing = nothing

        @dbus.service.signal(SECRET + "Prompt", "bv")
        def Completed(self, dismissed, result):
            pass

        @dbus.service.method(SECRET + "Prompt", "s", "")
        def Prompt(self, window):
            with state.calling("Prompt"):
                state.shown += 1
                if state.answer != "never":
                    GLib.idle_add(self.finish)

        @dbus.service.method(SECRET + "Prompt", "", "")
        def Dismiss(self):
            self.leave(True, self.nothing)

        def finish(self):
            if state.answer == "dismissed":
                self.leave(True, self.nothing)
            else:
                result = self.action()
                state.save()
                self.leave(False, result)
            return False

        def leave(self, dismissed, result):
            self.Completed(dismissed, result)
            self.remove_from_connection()

    def asking(action, nothing=dbus.String("", variant_level=1)):
        """Returns the path of a prompt that runs `action` if confirmed, and otherwise returns `nothing`."""
        state.number += 1
        path = f"{ROOT}/prompt/p{state.number}"
        exported[path] = Prompt(path, action, nothing)
        return path_of(path)

    class Item(Node):
        def __init__(self, path):
            super().__init__(bus, path)
            self.path = path

        def properties(self):
            item = state.items[self.path]
            return {
                "Locked": dbus.Boolean(state.locked, variant_level=1),
                "Attributes": dbus.Dictionary(item["attributes"], signature="ss", variant_level=1),
                "Label": dbus.String(item["label"], variant_level=1),
                "Created": dbus.UInt64(1, variant_level=1), "Modified": dbus.UInt64(1, variant_level=1)}

        @dbus.service.method(SECRET + "Item", "o", "(oayays)")
        def GetSecret(self, session):
            with state.calling("GetSecret"):
                state.check_open()
                return secret_of(self.path, session)

        @dbus.service.method(SECRET + "Item", "(oayays)", "", byte_arrays=True)
        def SetSecret(self, secret):
            with state.calling("SetSecret"):
                state.check_open()
                state.items[self.path]["secret"] = base64.b64encode(bytes(secret[2])).decode()

        @dbus.service.method(SECRET + "Item", "", "o")
        def Delete(self):
            with state.calling("Delete"):
                state.check_open()
                if "Delete" in state.asks:
                    return asking(self.drop)
                self.drop()
                return path_of(NOTHING)

        def drop(self):
            del state.items[self.path]
            del exported[self.path]
            self.remove_from_connection()
            return dbus.String("", variant_level=1)

    def add(label, attributes, secret):
        state.number += 1
        path = f"{COLLECTION}/{state.number}"
        state.items[path] = {
            "label": str(label), "secret": base64.b64encode(bytes(secret)).decode(),
            "attributes": {str(name): str(value) for name, value in attributes.items()}}
        exported[path] = Item(path)
        return path_of(path)

    class Collection(Node):
        def properties(self):
            return {
                "Locked": dbus.Boolean(state.locked, variant_level=1), "Label": dbus.String("Login", variant_level=1),
                "Items": dbus.Array([path_of(path) for path in state.items], signature="o", variant_level=1),
                "Created": dbus.UInt64(1, variant_level=1), "Modified": dbus.UInt64(1, variant_level=1)}

        @dbus.service.method(SECRET + "Collection", "a{ss}", "ao")
        def SearchItems(self, attributes):
            return [path_of(path) for path in state.find(attributes)]

        @dbus.service.method(SECRET + "Collection", "a{sv}(oayays)b", "oo", byte_arrays=True)
        def CreateItem(self, properties, secret, replace):
            with state.calling("CreateItem"):
                state.check_open()
                if not state.has_default:
                    raise error(SECRET + "Error.NoSuchObject", "There is no default collection.")
                label = properties.get(SECRET + "Item.Label", "")
                attributes = properties.get(SECRET + "Item.Attributes", {})

                def make():
                    same = [
                        path for path in state.find(attributes)
                        if len(state.items[path]["attributes"]) == len(attributes)]
                    if not replace or not same:
                        return add(label, attributes, secret[2])
                    state.items[same[0]]["secret"] = base64.b64encode(bytes(secret[2])).decode()
                    return path_of(same[0])

                if "CreateItem" not in state.asks:
                    return make(), path_of(NOTHING)

                def agreed():
                    return dbus.ObjectPath(make(), variant_level=1)

                return path_of(NOTHING), asking(agreed)

    class Service(Node):
        @dbus.service.method(SECRET + "Service", "sv", "vo")
        def OpenSession(self, algorithm, initial):
            with state.calling("OpenSession"):
                if algorithm != "plain":
                    raise error("org.freedesktop.DBus.Error.NotSupported", "Only plain sessions.")
                state.number += 1
                return dbus.String("", variant_level=1), path_of(f"{ROOT}/session/s{state.number}")

        @dbus.service.method(SECRET + "Service", "a{ss}", "aoao")
        def SearchItems(self, attributes):
            with state.calling("SearchItems"):
                found = dbus.Array([path_of(path) for path in state.find(attributes)], signature="o")
                none = dbus.Array([], signature="o")
                return (none, found) if state.locked else (found, none)

        @dbus.service.method(SECRET + "Service", "ao", "aoo")
        def Unlock(self, paths):
            with state.calling("Unlock"):
                def unlock():
                    state.locked = False
                    return dbus.Array(paths, signature="o", variant_level=1)

                if not state.locked or state.answer == "none":
                    state.locked = False
                    return paths, path_of(NOTHING)
                return dbus.Array([], signature="o"), asking(
                    unlock, dbus.Array([], signature="o", variant_level=1))

        @dbus.service.method(SECRET + "Service", "ao", "aoo")
        def Lock(self, paths):
            with state.calling("Lock"):
                state.locked = True
                return paths, path_of(NOTHING)

        @dbus.service.method(SECRET + "Service", "aoo", "a{o(oayays)}")
        def GetSecrets(self, paths, session):
            with state.calling("GetSecrets"):
                known = [] if state.locked else [path for path in paths if path in state.items]
                return dbus.Dictionary(
                    {path: secret_of(path, session) for path in known}, signature="o(oayays)")

        @dbus.service.method(SECRET + "Service", "s", "o")
        def ReadAlias(self, name):
            with state.calling("ReadAlias"):
                return path_of(COLLECTION if name == "default" and state.has_default else NOTHING)

    class Control(dbus.service.Object):
        @dbus.service.method(CONTROL, "s", "s")
        def Tell(self, command):
            words = str(command).split()
            answer = self.obey(words[0], words[1:])
            state.save()
            return str(answer)

        def obey(self, verb, rest):
            if verb in ["lock", "unlock"]:
                state.locked = verb == "lock"
            elif verb == "answer":
                state.answer = rest[0]
            elif verb == "asks":
                (state.asks.add if rest[1] == "yes" else state.asks.discard)(rest[0])
            elif verb == "default":
                state.has_default = rest[0] == "yes"
            elif verb == "on":
                state.traps[(rest[0], rest[1])] = rest[2], int(rest[3]) if len(rest) > 3 else 0
            elif verb == "copy":
                for item in list(state.items.values()):
                    add(item["label"], item["attributes"], base64.b64decode(item["secret"]))
            elif verb == "clear":
                for path in list(state.items):
                    exported[path].drop()
            elif verb == "prompts":
                return state.shown
            elif verb != "count":
                raise error("org.freedesktop.DBus.Error.InvalidArgs", verb)
            return len(state.items)

    service = Service(bus, ROOT)
    # libsecret creates items by the alias.
    collections = [Collection(bus, path) for path in [COLLECTION, ROOT + "/aliases/default"]]
    control = Control(bus, "/")
    for path in state.items:
        exported[path] = Item(path)
    names = [dbus.service.BusName(name, bus) for name in [CONTROL, "org.freedesktop.secrets"]]
    GLib.MainLoop().run()


{"bus": run_bus, "service": run_service}[sys.argv[1]](sys.argv[2])
