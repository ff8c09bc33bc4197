"""Private buses with logind, a screen saver and a real gnome-keyring, and their real signals on demand.

Usage: desktop.py DIRECTORY

Everything lives in DIRECTORY and ends with this program, which ends with its standard input. It prints
`ready`, then the address of the system bus and that of the session bus. Each line of input is one of the
commands below; `done` follows when the signal was sent, or what was asked for.
"""
import ctypes
import os
import signal
import subprocess
import sys
import time

import dbus
import dbus.bus

SESSION = "/org/freedesktop/login1/session/c7"
LOGIN = "org.freedesktop.login1"
MOCK = "org.freedesktop.DBus.Mock"
children = []


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def start(arguments, environment, **options):
    child = subprocess.Popen(
        arguments, env=environment, preexec_fn=die_with_parent, stderr=subprocess.DEVNULL, **options)
    children.append(child)
    return child


def start_bus(directory, name):
    address = f"unix:path={directory}/{name}"
    start(
        ["dbus-daemon", "--session", "--nofork", f"--address={address}"], dict(os.environ),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return address, retry(lambda: dbus.bus.BusConnection(address))


def retry(attempt):
    deadline = time.monotonic() + 120
    while True:
        try:
            return attempt()
        except dbus.exceptions.DBusException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def main(directory):
    system_address, system = start_bus(directory, "system")
    session_address, session = start_bus(directory, "session")
    environment = dict(
        os.environ, DBUS_SYSTEM_BUS_ADDRESS=system_address, DBUS_SESSION_BUS_ADDRESS=session_address,
        HOME=directory, XDG_DATA_HOME=directory, XDG_RUNTIME_DIR=directory, XDG_CONFIG_HOME=directory,
        XDG_CACHE_HOME=directory)
    for template in ["logind", "gnome_screensaver"]:
        start(
            [sys.executable, "-m", "dbusmock", "--template", template], environment,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    keyring = start(
        ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets"], environment,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    keyring.stdin.write(b"keyring password")
    keyring.stdin.close()

    manager = retry(lambda: system.get_object(LOGIN, "/org/freedesktop/login1"))
    retry(lambda: manager.AddSession("c7", "seat0", os.getuid(), "user", True, dbus_interface=MOCK))
    desktop = system.get_object(LOGIN, SESSION)
    saver = retry(lambda: session.get_object("org.gnome.ScreenSaver", "/org/gnome/ScreenSaver"))
    secrets = retry(lambda: session.get_object("org.freedesktop.secrets", "/org/freedesktop/secrets"))

    def emit(member, signature, values):
        manager.EmitSignal(LOGIN + ".Manager", member, signature, values, dbus_interface=MOCK)

    def property_changed(**values):
        desktop.UpdateProperties(LOGIN + ".Session", values, dbus_interface=MOCK)

    def default_collection():
        return secrets.ReadAlias("default", dbus_interface="org.freedesktop.Secret.Service")

    def kill_bus(number):
        children[number].kill()

    retry(default_collection)
    commands = {
        "screenLock": lambda: desktop.Lock(dbus_interface=LOGIN + ".Session"),
        "lockedHint": lambda: property_changed(LockedHint=True),
        "lockedHintOff": lambda: property_changed(LockedHint=False),
        "sessionEnd": lambda: property_changed(State="closing"),
        "sessionRemoved": lambda: emit("SessionRemoved", "so", ["c7", SESSION]),
        "otherRemoved": lambda: emit("SessionRemoved", "so", ["c8", SESSION[:-1] + "8"]),
        "sleep": lambda: emit("PrepareForSleep", "b", [True]),
        "awake": lambda: emit("PrepareForSleep", "b", [False]),
        "shutdown": lambda: emit("PrepareForShutdown", "b", [True]),
        "screenSaver": lambda: saver.SetActive(True, dbus_interface="org.gnome.ScreenSaver"),
        "screenSaverOff": lambda: saver.SetActive(False, dbus_interface="org.gnome.ScreenSaver"),
        "collectionLock": lambda: secrets.Lock(
            [default_collection()], dbus_interface="org.freedesktop.Secret.Service"),
        "systemBusLost": lambda: kill_bus(0),
        "busLost": lambda: kill_bus(1),
    }

    def say(text):
        print(text, flush=True)

    say("ready")
    say(system_address)
    say(session_address)
    for line in sys.stdin:
        command = line.strip()
        if command == "inhibitors":
            listed = manager.ListInhibitors(dbus_interface=LOGIN + ".Manager")
            say(str(sum(1 for one in listed if one[0] == "sleep" and one[3] == "delay")))
        else:
            commands[command]()
            say("done")


try:
    main(sys.argv[1])
finally:
    for child in children:
        child.kill()
    for child in children:
        child.wait()
