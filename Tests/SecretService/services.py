"""Private buses with `coffer serve` or a real gnome-keyring on them, in directories of their own."""
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time

import dbus
import dbus.bus

from client import NAME, ROOT, SECRET

DEADLINE = 60


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Bus:
    """A bus of this test's own; everything on it ends with it."""

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="coffer-laws-")
        self.address = f"unix:path={self.directory}/bus"
        self.children = []
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": self.directory, "LC_ALL": "C.UTF-8",
            "XDG_RUNTIME_DIR": self.directory, "XDG_DATA_HOME": self.directory,
            "XDG_CONFIG_HOME": self.directory, "XDG_CACHE_HOME": self.directory,
            "DBUS_SESSION_BUS_ADDRESS": self.address, "DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nonexistent",
        }
        configuration = os.path.join(self.directory, "bus.conf")
        with open(configuration, "w") as file:
            file.write(f"""<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
                "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
                <busconfig><type>session</type><listen>{self.address}</listen><auth>EXTERNAL</auth>
                <policy context="default"><allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/><allow own="*"/></policy></busconfig>""")
        self.start_daemon()

    def start_daemon(self):
        configuration = os.path.join(self.directory, "bus.conf")
        self.daemon = self.start(["dbus-daemon", "--nofork", f"--config-file={configuration}"])
        self.connection = retry(lambda: dbus.bus.BusConnection(self.address))

    def start(self, arguments, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stderr", subprocess.DEVNULL)
        child = subprocess.Popen(
            arguments, env=self.environment, preexec_fn=die_with_parent, stdout=subprocess.DEVNULL, **options)
        self.children.append(child)
        return child

    def wait_for_service(self, child):
        """Waits until the child's service answers."""
        def owned():
            if child.poll() is not None:
                raise AssertionError(f"the service ended with {child.returncode}")
            if not self.connection.name_has_owner(NAME):
                raise dbus.exceptions.DBusException("not yet")
        retry(owned)

    def wait_until_gone(self):
        def gone():
            if self.connection.name_has_owner(NAME):
                raise dbus.exceptions.DBusException("still there")
        retry(gone)

    def close(self):
        for child in self.children:
            child.kill()
        for child in self.children:
            child.wait()
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def retry(attempt):
    end = time.monotonic() + DEADLINE
    while True:
        try:
            return attempt()
        except dbus.exceptions.DBusException:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


class Coffer(Bus):
    """A vault, and `coffer serve` on it."""

    def __init__(self, coffer, passcode=None, interaction="terminal"):
        super().__init__()
        self.coffer = coffer
        self.home = os.path.join(self.directory, "home")
        self.interaction = interaction
        self.passcode = passcode
        options = ["--kdf-memory", "8", "--kdf-passes", "2"]
        self.run("init", "--keyring", "file", *options, *([] if passcode else ["--no-passcode"]))
        self.serve()

    def run(self, *arguments, check=True):
        """Runs a command on the vault, with its passcode."""
        words = [self.coffer, *arguments, "--home", self.home]
        if self.passcode is None:
            return subprocess.run(
                words, env=self.environment, check=check, capture_output=True, stdin=subprocess.DEVNULL,
                timeout=DEADLINE)
        reader, writer = os.pipe()
        os.write(writer, self.passcode.encode() + b"\n")
        os.close(writer)
        try:
            return subprocess.run(
                [*words, "--passcode-fd", str(reader)], env=self.environment, check=check,
                capture_output=True, pass_fds=[reader], stdin=subprocess.DEVNULL, timeout=DEADLINE)
        finally:
            os.close(reader)

    def serve(self, *options, within=()):
        """Starts the service, within a command that starts another one."""
        words = [self.coffer, "serve", "--home", self.home, "--interaction", self.interaction, *options]
        self.service = self.start([*within, *words])
        self.wait_for_service(self.service)

    def kill(self):
        self.service.kill()
        self.service.wait()
        self.wait_until_gone()

    def restart(self):
        self.kill()
        self.serve()


class GnomeKeyring(Bus):
    """A real gnome-keyring with an unlocked default collection that has a password."""

    INTERNAL = "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface"

    def __init__(self):
        super().__init__()
        self.start_keyring()

    def start_keyring(self):
        self.keyring = self.start(
            ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"],
            stdin=subprocess.PIPE)
        self.keyring.stdin.write(b"password")
        self.keyring.stdin.close()
        self.wait_for_service(self.keyring)

    def start_again_if_ended(self):
        """After a crash. A program that leaves the bus may still be about to end."""
        if self.connection.name_has_owner(NAME):
            return
        self.keyring.kill()
        self.keyring.wait()
        self.start_keyring()

    def master(self, client):
        return client.secret(client.plain(), b"password")

    def unlock(self, client, collection):
        """Unlocks without the prompt that only a desktop can show."""
        client.call(
            ROOT, self.INTERNAL, "UnlockWithMasterPassword", "o(oayays)", collection, self.master(client))

    def create(self, client, label):
        """Creates a collection without that prompt."""
        properties = dbus.Dictionary(
            {SECRET + "Collection.Label": dbus.String(label, variant_level=1)}, signature="sv")
        return client.call(
            ROOT, self.INTERNAL, "CreateWithMasterPassword", "a{sv}(oayays)", properties, self.master(client))
