"""A client of a Secret Service that sends exactly the messages a law is about."""
import os
import time

import dbus
import dbus.bus
import dbus.lowlevel
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from dbus.mainloop.glib import DBusGMainLoop
from gi.repository import GLib

NAME = "org.freedesktop.secrets"
ROOT = "/org/freedesktop/secrets"
DEFAULT = ROOT + "/aliases/default"
SECRET = "org.freedesktop.Secret."
DH = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
TIMEOUT = 30

# The prime of the Second Oakley Group, RFC 2409 section 6.2.
PRIME = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
    "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)

loop = DBusGMainLoop()


class Refused(Exception):
    """The service answered with an error."""

    def __init__(self, error):
        super().__init__(f"{error.get_dbus_name()}: {error.get_dbus_message()}")
        self.name = error.get_dbus_name().rsplit(".", 1)[-1]


class Client:
    """One connection to the bus, and the signals that it received."""

    def __init__(self, address):
        self.bus = dbus.bus.BusConnection(address, mainloop=loop)
        self.signals = []
        self.bus.add_match_string(f"type='signal',sender='{NAME}'")
        self.bus.add_message_filter(self._note)
        self.key = None

    def _note(self, _, message):
        if isinstance(message, dbus.lowlevel.SignalMessage):
            self.signals.append(
                (message.get_path(), message.get_member(), message.get_args_list(byte_arrays=True),
                 message.get_destination()))
        return dbus.lowlevel.HANDLER_RESULT_NOT_YET_HANDLED

    def close(self):
        self.bus.close()

    def call(self, path, interface, member, signature="", *arguments):
        if "." not in interface:
            interface = SECRET + interface
        try:
            return self.bus.call_blocking(
                NAME, path, interface, member, signature, arguments, timeout=TIMEOUT, byte_arrays=True)
        except dbus.exceptions.DBusException as error:
            raise Refused(error) from None

    def wait(self, wanted, seconds=20):
        """Waits for a signal that `wanted` accepts, among those received and those to come."""
        end = time.monotonic() + seconds
        context = GLib.MainContext.default()
        while True:
            for signal in self.signals:
                if wanted(*signal):
                    return signal
            assert time.monotonic() < end, "the signal does not come"
            if not context.iteration(False):
                time.sleep(0.005)

    def settle(self):
        """Waits until everything that the service sent before is here."""
        self.call(ROOT, "org.freedesktop.DBus.Peer", "Ping")
        context = GLib.MainContext.default()
        while context.iteration(False):
            pass

    # Sessions

    def plain(self):
        return self.call(ROOT, "Service", "OpenSession", "sv", "plain", dbus.String("", variant_level=1))[1]

    def encrypted(self, exponent=None):
        exponent = exponent or int.from_bytes(os.urandom(128), "big") % (PRIME - 4) + 2
        own = pow(2, exponent, PRIME).to_bytes(128, "big")
        output, path = self.open(DH, own)
        shared = pow(int.from_bytes(bytes(output), "big"), exponent, PRIME).to_bytes(128, "big")
        self.key = HKDF(hashes.SHA256(), 16, None, b"").derive(shared)
        return path

    def open(self, algorithm, value):
        argument = dbus.ByteArray(value, variant_level=1)
        return self.call(ROOT, "Service", "OpenSession", "sv", algorithm, argument)

    def seal(self, secret):
        iv = os.urandom(16)
        padding = 16 - len(secret) % 16
        cipher = Cipher(algorithms.AES(self.key), modes.CBC(iv)).encryptor()
        return iv, cipher.update(secret + bytes([padding]) * padding) + cipher.finalize()

    def unseal(self, secret):
        cipher = Cipher(algorithms.AES(self.key), modes.CBC(bytes(secret[1]))).decryptor()
        padded = cipher.update(bytes(secret[2])) + cipher.finalize()
        return padded[: -padded[-1]]

    # Items

    @staticmethod
    def secret(session, value, parameters=b"", type="text/plain"):
        return dbus.Struct(
            (dbus.ObjectPath(session), dbus.ByteArray(parameters), dbus.ByteArray(value), type),
            signature="oayays")

    @staticmethod
    def attributes(values):
        return dbus.Dictionary(values, signature="ss")

    def create(self, attributes, value=b"secret", label="Label", replace=False, collection=DEFAULT,
               session=None, type="text/plain"):
        properties = dbus.Dictionary({
            SECRET + "Item.Label": dbus.String(label, variant_level=1),
            SECRET + "Item.Attributes": dbus.Dictionary(attributes, signature="ss", variant_level=1),
        }, signature="sv")
        return self.call(
            collection, "Collection", "CreateItem", "a{sv}(oayays)b", properties,
            self.secret(session or self.plain(), value, type=type), replace)[0]

    def get(self, item, session=None):
        return bytes(self.call(item, "Item", "GetSecret", "o", session or self.plain())[2])

    def set(self, item, value, session=None):
        self.call(item, "Item", "SetSecret", "(oayays)", self.secret(session or self.plain(), value))

    def delete(self, item):
        return self.call(item, "Item", "Delete")

    def search(self, attributes):
        """Returns the unlocked and the locked items of all collections."""
        found = self.call(ROOT, "Service", "SearchItems", "a{ss}", self.attributes(attributes))
        return list(found[0]), list(found[1])

    def search_in(self, collection, attributes):
        return list(self.call(collection, "Collection", "SearchItems", "a{ss}", self.attributes(attributes)))

    def new_collection(self, label, alias=""):
        properties = dbus.Dictionary(
            {SECRET + "Collection.Label": dbus.String(label, variant_level=1)}, signature="sv")
        return self.call(ROOT, "Service", "CreateCollection", "a{sv}s", properties, alias)

    def property(self, path, interface, name):
        return self.call(path, "org.freedesktop.DBus.Properties", "Get", "ss", SECRET + interface, name)

    def properties(self, path, interface):
        return self.call(path, "org.freedesktop.DBus.Properties", "GetAll", "s", SECRET + interface)

    def set_property(self, path, interface, name, value):
        self.call(path, "org.freedesktop.DBus.Properties", "Set", "ssv", SECRET + interface, name, value)

    def alias(self, name):
        return self.call(ROOT, "Service", "ReadAlias", "s", name)

    def lock(self, *paths):
        return self.call(ROOT, "Service", "Lock", "ao", dbus.Array(paths, signature="o"))

    def unlock(self, *paths):
        return self.call(ROOT, "Service", "Unlock", "ao", dbus.Array(paths, signature="o"))

    def secrets(self, items, session):
        return self.call(
            ROOT, "Service", "GetSecrets", "aoo", dbus.Array(items, signature="o"), dbus.ObjectPath(session))
