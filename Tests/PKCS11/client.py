"""A client of PKCS #11 through p11-kit's proxy, for calls that no program makes."""

import ctypes
import glob
import os
import sys
import traceback

OK, SENSITIVE, DATA, LENGTH, REMOVED = 0, 0x11, 0x20, 0x21, 0x32
UNSUPPORTED, KEY_HANDLE, KEY_TYPE, MECHANISM, PARAMETER = 0x54, 0x60, 0x63, 0x70, 0x71
OBJECT_HANDLE, ACTIVE, NOT_BEGUN, SESSION_COUNT, SESSION_HANDLE = 0x82, 0x90, 0x91, 0xB1, 0xB3
NOT_LOGGED_IN, TOO_SMALL, NOT_INITIALIZED, REJECTED = 0x101, 0x150, 0x190, 0x200
RSA_PKCS, RSA_PSS, ECDSA, EDDSA = 0x01, 0x0D, 0x1041, 0x1057
CERTIFICATE, PUBLIC, PRIVATE = 1, 2, 3
NAMES = """Initialize Finalize GetInfo GetFunctionList GetSlotList GetSlotInfo GetTokenInfo GetMechanismList
GetMechanismInfo InitToken InitPIN SetPIN OpenSession CloseSession CloseAllSessions GetSessionInfo GetOperationState
SetOperationState Login Logout CreateObject CopyObject DestroyObject GetObjectSize GetAttributeValue SetAttributeValue
FindObjectsInit FindObjects FindObjectsFinal EncryptInit Encrypt EncryptUpdate EncryptFinal DecryptInit Decrypt
DecryptUpdate DecryptFinal DigestInit Digest DigestUpdate DigestKey DigestFinal SignInit Sign SignUpdate SignFinal
SignRecoverInit SignRecover VerifyInit Verify VerifyUpdate VerifyFinal VerifyRecoverInit VerifyRecover
DigestEncryptUpdate DecryptDigestUpdate SignEncryptUpdate DecryptVerifyUpdate GenerateKey GenerateKeyPair WrapKey
UnwrapKey DeriveKey SeedRandom GenerateRandom GetFunctionStatus CancelFunction WaitForSlotEvent""".split()
number = ctypes.c_ulong


class Attribute(ctypes.Structure):
    _fields_ = [("type", number), ("value", ctypes.c_void_p), ("size", number)]


class Mechanism(ctypes.Structure):
    _fields_ = [("type", number), ("parameter", ctypes.c_void_p), ("size", number)]


class Functions(ctypes.Structure):
    _fields_ = [("version", ctypes.c_ubyte * 2)] + [(name, ctypes.c_void_p) for name in NAMES]


def proxy():
    """The path of p11-kit's proxy module."""
    found = glob.glob("/usr/lib/*/p11-kit-proxy.so") + glob.glob("/usr/lib64/p11-kit-proxy.so")
    return found[0]


class Client:
    """One process's use of the token."""

    def __init__(self):
        library = ctypes.CDLL(proxy())
        pointer = ctypes.POINTER(Functions)()
        library.C_GetFunctionList(ctypes.byref(pointer))
        self.functions = pointer.contents
        self.expect(OK, "Initialize", None)
        count = number(16)
        slots = (number * 16)()
        self.expect(OK, "GetSlotList", ctypes.c_ubyte(1), slots, ctypes.byref(count))
        self.slot = next(slot for slot in slots[:count.value] if self.label(slot) == b"coffer")

    def call(self, name, *arguments):
        function = ctypes.CFUNCTYPE(number)(getattr(self.functions, name))
        function.restype = number
        return function(*[number(value) if isinstance(value, int) else value for value in arguments])

    def expect(self, code, name, *arguments):
        got = self.call(name, *arguments)
        if got != code:
            raise AssertionError(f"C_{name}: {got:#x}, not {code:#x}")

    def label(self, slot):
        place = ctypes.create_string_buffer(512)
        self.expect(OK, "GetTokenInfo", slot, place)
        return place.raw[:32].rstrip()

    def session(self):
        place = number()
        self.expect(OK, "OpenSession", self.slot, 4, None, None, ctypes.byref(place))
        return place.value

    def template(self, pairs):
        """Attributes with values; the caller keeps them."""
        values = [value.to_bytes(8, sys.byteorder) if isinstance(value, int) else value for _, value in pairs]
        buffers = [ctypes.create_string_buffer(value, max(1, len(value))) for value in values]
        made = (Attribute * max(1, len(pairs)))()
        for index, (kind, _) in enumerate(pairs):
            made[index] = Attribute(kind, ctypes.cast(buffers[index], ctypes.c_void_p), len(values[index]))
        made.kept = buffers
        return made

    def find(self, session, *pairs):
        made = self.template(pairs)
        self.expect(OK, "FindObjectsInit", session, made, len(pairs))
        found, count = (number * 4096)(), number()
        self.expect(OK, "FindObjects", session, found, 4096, ctypes.byref(count))
        self.expect(OK, "FindObjectsFinal", session)
        return found[:count.value]

    def private(self, session, alias):
        return self.find(session, (0, PRIVATE), (3, alias.encode()))[0]

    def attribute(self, session, item, kind, size=8192):
        """The answer to a question for one attribute, and its value."""
        place = ctypes.create_string_buffer(size)
        asked = (Attribute * 1)(Attribute(kind, ctypes.cast(place, ctypes.c_void_p), size))
        code = self.call("GetAttributeValue", session, item, asked, 1)
        return code, place.raw[:asked[0].size] if code == OK else None

    def begin(self, session, kind, key, parameter=b""):
        place = ctypes.create_string_buffer(parameter, max(1, len(parameter)))
        mechanism = Mechanism(kind, ctypes.cast(place, ctypes.c_void_p) if parameter else None, len(parameter))
        return self.call("SignInit", session, ctypes.byref(mechanism), key)

    def finish(self, session, data, room=1024):
        place, size = ctypes.create_string_buffer(max(1, room)), number(room)
        buffer = ctypes.create_string_buffer(data, max(1, len(data)))
        code = self.call("Sign", session, buffer, len(data), place, ctypes.byref(size))
        return code, place.raw[:size.value] if code == OK else None

    def sign(self, session, kind, key, data, parameter=b""):
        code = self.begin(session, kind, key, parameter)
        return (code, None) if code != OK else self.finish(session, data)


def apart(world, body):
    """Runs a function with a client in another process, as the world's user; returns what it prints."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(read)
            # The module's messages, as the program that uses it would show them.
            errors = os.open(os.path.join(world.home, "errors"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
            os.dup2(errors, 2)
            if world.user:
                os.setgroups([])
                os.setresgid(*[world.user.pw_gid] * 3)
                os.setresuid(*[world.user.pw_uid] * 3)
            os.environ.clear()
            os.environ.update(world.environment)
            os.chdir(world.home)
            text = body(Client()) or ""
            os.write(write, b"+" + text.encode())
            code = 0
        except BaseException:
            os.write(write, b"-" + traceback.format_exc().encode()[-4000:])
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        text = stream.read().decode()
    os.waitpid(child, 0)
    if not text.startswith("+"):
        raise AssertionError(text[1:] or "the client crashed")
    return text[1:]


def errors(world):
    """What the module told the clients of a world."""
    with open(os.path.join(world.home, "errors"), encoding="utf-8") as stream:
        return stream.read()
