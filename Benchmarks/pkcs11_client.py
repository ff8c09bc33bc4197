"""A client of PKCS #11 for `bench`: p11-kit's client module in front of a token that another process serves.

    pkcs11_client.py ours COFFER HOME DIRECTORY
    pkcs11_client.py theirs DIRECTORY

With `ours`, `coffer pkcs11 serve` serves the vault in HOME, which has one key pair, as p11-kit starts it for a program.
With `theirs`, `p11-kit remote` serves a token of SoftHSM in the same way, which is made in DIRECTORY with a new key.
p11-kit reads no settings of root's home, so this program starts the process itself and connects the client module with
it, by a socket in DIRECTORY.

Commands: `version` (of SoftHSM; empty for a vault), `point` (the public key), `sign COUNT DIGEST-HEX` (prints the last
signature). Each has one line of answer: `ok VALUE` or `failed REASON`.
"""

import ctypes
import glob
import os
import socket
import subprocess
import sys
import threading

PIN = b"1234"
ECDSA, PUBLIC, PRIVATE = 0x1041, 2, 3
SERIAL, USER, ALREADY_LOGGED_IN = 4, 1, 0x100
CLASS, POINT = 0x0, 0x181
# The places of the functions in CK_FUNCTION_LIST, after the version.
PLACES = {"Initialize": 0, "GetSlotList": 4, "OpenSession": 12, "Login": 18, "GetAttributeValue": 24,
          "FindObjectsInit": 26, "FindObjects": 27, "FindObjectsFinal": 28, "SignInit": 42, "Sign": 43}
number = ctypes.c_ulong


class Attribute(ctypes.Structure):
    _fields_ = [("type", number), ("value", ctypes.c_void_p), ("size", number)]


class Mechanism(ctypes.Structure):
    _fields_ = [("type", number), ("parameter", ctypes.c_void_p), ("size", number)]


class Functions(ctypes.Structure):
    _fields_ = [("version", ctypes.c_ubyte * 2), ("functions", ctypes.c_void_p * 68)]


def first(pattern):
    """The first file of a pattern."""
    found = sorted(glob.glob(pattern))
    if not found:
        raise FileNotFoundError(pattern)
    return found[0]


def softhsm(folder):
    """Makes a token of SoftHSM with a key; returns the command that serves it."""
    module = first("/usr/lib/softhsm/libsofthsm2.so")
    os.mkdir(os.path.join(folder, "tokens"), 0o700)
    settings = os.path.join(folder, "softhsm2.conf")
    with open(settings, "w", encoding="utf-8") as stream:
        stream.write(f"directories.tokendir = {folder}/tokens\nlog.level = ERROR\n")
    os.environ["SOFTHSM2_CONF"] = settings
    for command in (["softhsm2-util", "--init-token", "--free", "--label", "bench", "--so-pin", PIN, "--pin", PIN],
                    ["pkcs11-tool", "--module", module, "--token-label", "bench", "--login", "--pin", PIN,
                     "--keypairgen", "--key-type", "EC:prime256v1", "--label", "bench", "--usage-sign"]):
        subprocess.run(command, check=True, timeout=60, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    return ["p11-kit", "remote", module]


def connect(command, folder):
    """Has the client module talk to a command, as p11-kit does, by the only connection of a socket."""
    path = os.path.join(folder, "socket")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(1)

    def serve():
        connection = listener.accept()[0]
        with connection:
            subprocess.Popen(command, stdin=connection, stdout=connection, stderr=subprocess.DEVNULL)

    threading.Thread(target=serve, daemon=True).start()
    os.environ["P11_KIT_SERVER_ADDRESS"] = "unix:path=" + path


class Client:
    """A session with a key."""

    def __init__(self, pin):
        library = ctypes.CDLL(first("/usr/lib/*/pkcs11/p11-kit-client.so"))
        pointer = ctypes.POINTER(Functions)()
        library.C_GetFunctionList(ctypes.byref(pointer))
        addresses = pointer.contents.functions
        self.functions = {}
        for name, place in PLACES.items():
            self.functions[name] = ctypes.CFUNCTYPE(number)(addresses[place])
        self.call("Initialize", None)
        slots, count, session = (number * 16)(), number(16), number()
        self.call("GetSlotList", ctypes.c_ubyte(1), slots, ctypes.byref(count))
        # SoftHSM has an empty slot after that of the token.
        self.call("OpenSession", number(slots[0]), number(SERIAL), None, None, ctypes.byref(session))
        self.session = session
        self.call("Login", session, number(USER), pin, number(len(pin or b"")))
        self.key = self.find(PRIVATE)

    def call(self, name, *arguments):
        code = self.functions[name](*arguments)
        if code:
            raise RuntimeError(f"C_{name}: {code:#x}")

    def find(self, kind):
        value, found, count = number(kind), number(), number()
        template = Attribute(CLASS, ctypes.cast(ctypes.byref(value), ctypes.c_void_p), ctypes.sizeof(value))
        self.call("FindObjectsInit", self.session, ctypes.byref(template), number(1))
        self.call("FindObjects", self.session, ctypes.byref(found), number(1), ctypes.byref(count))
        self.call("FindObjectsFinal", self.session)
        if count.value != 1:
            raise RuntimeError("there is no key")
        return found

    def point(self):
        """The uncompressed point, without the head of the octet string around it."""
        place = ctypes.create_string_buffer(256)
        asked = Attribute(POINT, ctypes.cast(place, ctypes.c_void_p), len(place))
        self.call("GetAttributeValue", self.session, self.find(PUBLIC), ctypes.byref(asked), number(1))
        return place.raw[2:asked.size]

    def sign(self, count, digest):
        mechanism, place, size = Mechanism(ECDSA, None, 0), ctypes.create_string_buffer(64), number()
        for _ in range(count):
            size.value = len(place)
            self.call("SignInit", self.session, ctypes.byref(mechanism), self.key)
            self.call("Sign", self.session, digest, number(len(digest)), place, ctypes.byref(size))
        return place.raw[:size.value]


def answer(client, line):
    verb, *words = line.split()
    if verb == "version" and sys.argv[1] == "ours":
        return ""
    if verb == "version":
        done = subprocess.run(["softhsm2-util", "--version"], check=True, capture_output=True, timeout=10)
        return done.stdout.decode()
    if verb == "point":
        return client.point().hex()
    if verb == "sign":
        return client.sign(int(words[0]), bytes.fromhex(words[1])).hex()
    raise ValueError("no such command")


def main():
    client = failure = None
    try:
        if sys.argv[1] == "ours":
            _, _, coffer, home, folder = sys.argv
            connect([coffer, "pkcs11", "serve", "--home", home], folder)
            client = Client(None)
        else:
            connect(softhsm(sys.argv[2]), sys.argv[2])
            client = Client(PIN)
    except Exception as error:
        failure = error
    for line in sys.stdin:
        try:
            if failure:
                raise failure
            reply = "ok " + answer(client, line).strip()
        except Exception as error:
            reply = "failed %s" % str(error).replace("\n", " ")
        os.write(1, (reply + "\n").encode())


main()
