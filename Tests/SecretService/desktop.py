#!/usr/bin/python3
"""Programs of a desktop with `coffer serve`: Chromium's cookies, QtKeychain and Seahorse.

Usage: desktop.py COFFER [PROGRAM …]

A program that is not installed is named and left out, but with COFFER_REQUIRE_PROGRAMS in the environment, it is an error.
"""
import contextlib
import http.server
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "OAuthServers")]

import dbus  # noqa: E402

from bed import Bed  # noqa: E402
from client import Client  # noqa: E402
from services import Coffer  # noqa: E402

BED = Bed(HERE.parent.parent / ".build/oauth-servers")
QT = ["libqt5keychain.so.1", "libQt5Core.so.5"]
BOOT_ID = "/proc/sys/kernel/random/boot_id"


def can_change_boot_id():
    words = ["unshare", "-m", "mount", "--bind", "/dev/null", BOOT_ID]
    return subprocess.run(words, capture_output=True).returncode == 0


def reboot(service):
    """Does what a reboot does: another bus and boot id, and no files of the session."""
    service.kill()
    service.daemon.kill()
    service.daemon.wait()
    service.connection.close()
    for name in os.listdir(service.directory):
        path = os.path.join(service.directory, name)
        if name not in ("bus.conf", "home", "profile"):
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    boot = os.path.join(service.directory, "boot-id")
    with open(boot, "w") as file:
        file.write("00000000-0000-4000-8000-00000000b007\n")
    service.start_daemon()
    service.serve(within=["unshare", "-m", "sh", "-c", f'mount --bind "$0" {BOOT_ID} && exec "$@"', boot])
    shown = pathlib.Path(f"/proc/{service.service.pid}/root{BOOT_ID}").read_text()
    assert "b007" in shown, shown


class Pages(http.server.BaseHTTPRequestHandler):
    """Sets a cookie, and notes which one comes back."""

    seen = []

    def do_GET(self):
        self.seen.append(self.headers.get("Cookie"))
        self.send_response(200)
        if self.path == "/set":
            self.send_header("Set-Cookie", "session=s3cret-cookie; Max-Age=100000; Path=/")
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>page</p>")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def pages():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def browse(service, url):
    """Shows a page, and returns the cookie that the browser sent."""
    program = BED.browser()
    environment = dict(service.environment)
    if program.is_relative_to(BED.folder):
        environment["LD_LIBRARY_PATH"] = BED.libraries()
    done = subprocess.run(
        [program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--password-store=gnome-libsecret", f"--user-data-dir={service.directory}/profile", "--dump-dom", url],
        env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
    assert done.returncode == 0 and b"page" in done.stdout, (done.returncode, done.stderr[-2000:].decode())
    return Pages.seen[-1]


def chromium_item(service):
    client = Client(service.address)
    client.unlock(client.alias("default"))
    found = client.search({"application": "chromium"})[0]
    labels = [str(client.property(item, "Item", "Label")) for item in found]
    secrets = [client.get(item) for item in found]
    client.close()
    return labels, secrets


def chromium(service):
    """The key of a browser's cookies is an item, and stays the same over a kill and a reboot."""
    cookie = "session=s3cret-cookie"
    with pages() as site:
        assert browse(service, site + "/set") is None
        profile = pathlib.Path(service.directory, "profile")
        (database,) = profile.rglob("Cookies")
        with contextlib.closing(sqlite3.connect(database)) as connection:
            ((plain, sealed),) = connection.execute("select value, encrypted_value from cookies").fetchall()
        # v10 would be under a key that every Chromium has.
        assert plain == "" and sealed[:3] == b"v11" and b"s3cret" not in sealed, (plain, sealed[:3])
        labels, (key,) = chromium_item(service)
        assert labels == ["Chromium Safe Storage"], labels
        service.restart()
        assert browse(service, site + "/") == cookie
        if can_change_boot_id():
            reboot(service)
            assert browse(service, site + "/") == cookie
        else:
            print("A reboot is not simulated: only root can change the boot's id.")
        assert chromium_item(service)[1] == [key]
        # Without the item, the same profile has no cookie to show: so it was the service's key.
        client = Client(service.address)
        for item in client.search({"application": "chromium"})[0]:
            client.delete(item)
        client.close()
        assert browse(service, site + "/") is None


def qt_keychain(service):
    """Passwords of QtKeychain, which Nextcloud, Quassel and others use."""
    program = os.path.join(service.directory, "qtkeychain")
    libraries = [f"-l:{name}" for name in QT]
    subprocess.run(
        ["c++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-o", program, HERE / "qtkeychain.cpp", *libraries],
        check=True)

    def keychain(*arguments):
        done = subprocess.run(
            [program, *arguments], env=service.environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=60)
        return done.returncode, done.stdout.decode()

    assert keychain("write", "ada", "pässword\n") == (0, "")
    assert keychain("write", "ada", "other\n") == (0, "")
    assert keychain("read", "ada") == (0, "other\n")
    client = Client(service.address)
    found = client.search({"user": "ada", "server": "Coffer's test"})
    assert len(found[0]) == 1, found
    client.close()
    service.restart()
    assert keychain("read", "ada") == (0, "other\n")
    assert keychain("delete", "ada") == (0, "")
    # EntryNotFound
    assert keychain("read", "ada")[0] == 1


# Prints each label that programs show on the display; with a verb and a label, also selects the list's row that has it,
# or clicks its button.
ACCESSIBLE = """
import sys, gi
gi.require_version("Atspi", "2.0")
from gi.repository import Atspi
def walk(node):
    if node is not None:
        yield node
        for number in range(node.get_child_count()):
            yield from walk(node.get_child_at_index(number))
verb, wanted = (sys.argv[1:] + [None, None])[:2]
for node in walk(Atspi.get_desktop(0)):
    name = node.get_name()
    if node.get_role_name() != "label" or not name:
        continue
    print(name)
    row = node.get_parent().get_parent()
    if name != wanted or row.get_role_name() != "list item":
        continue
    if verb == "select":
        row.get_parent().get_selection_iface().select_child(row.get_index_in_parent())
    for button in walk(row):
        if verb == "click" and button.get_role_name() in ("push button", "button"):
            button.get_action_iface().do_action(0)
"""


class Screen:
    """A display without a screen, and the bus by which programs tell what they show on it."""

    def __init__(self, service):
        reader, writer = os.pipe()
        self.service = service
        service.start(["Xvfb", "-displayfd", str(writer), "-nolisten", "tcp"], pass_fds=[writer])
        os.close(writer)
        with os.fdopen(reader) as file:
            service.environment["DISPLAY"] = ":" + file.readline().strip()
        service.start(["/usr/libexec/at-spi-bus-launcher", "--launch-immediately"])

    def labels(self, *action):
        done = subprocess.run(
            ["/usr/bin/python3", "-W", "ignore", "-c", ACCESSIBLE, *action], env=self.service.environment,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        return done.stdout.decode().splitlines()

    def wait(self, condition, text, *action):
        """Waits until the labels meet the condition. The action is repeated: Seahorse may make its list again."""
        end = time.monotonic() + 60
        while not condition(self.labels(*action)):
            assert time.monotonic() < end, f"Seahorse does not show {text}: {self.labels()}"
            time.sleep(0.1)


def seahorse(service):
    """Seahorse shows the collections and items, follows their changes, locks and unlocks."""
    client = Client(service.address)
    item = client.create({"site": "example"}, b"hidden", label="First label")
    client.new_collection("Shelf")
    screen = Screen(service)
    program = service.start(["seahorse"])
    screen.wait(lambda shown: {"Login", "Shelf"} <= set(shown), "the collections")
    screen.wait(lambda shown: "First label" in shown, "the item", "select", "Login")
    client.set_property(item, "Item", "Label", dbus.String("Second label", variant_level=1))
    screen.wait(lambda shown: "Second label" in shown and "First label" not in shown, "a new label")
    client.create({"site": "other"}, b"hidden", label="Third label")
    screen.wait(lambda shown: "Third label" in shown, "a new item")
    client.delete(item)
    screen.wait(lambda shown: "Second label" not in shown, "that an item is gone")
    login = client.alias("default")
    for state in [True, False]:
        screen.labels("click", "Login")
        until(lambda: bool(client.property(login, "Collection", "Locked")) == state, "Seahorse's button")
    screen.wait(lambda shown: "Third label" in shown, "the item after an unlock")
    service.restart()
    client.unlock(login)
    client.create({"site": "third"}, b"hidden", label="Fourth label")
    assert program.poll() is None, "Seahorse crashed"
    client.close()


def until(condition, text):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, f"{text} does nothing"
        time.sleep(0.05)


def has_accessibility():
    words = ["/usr/bin/python3", "-c", "import gi; gi.require_version('Atspi', '2.0')"]
    return os.path.exists("/usr/libexec/at-spi-bus-launcher") and not subprocess.run(
        words, capture_output=True).returncode


def is_loadable(name):
    return any(os.path.exists(os.path.join(place, name)) for place in
               ["/usr/lib", "/usr/lib64", *map(str, pathlib.Path("/usr/lib").glob("*-linux-gnu"))])


def ready():
    return [
        (chromium, "Chromium", BED.browser()),
        (qt_keychain, "libqt5keychain1", all(map(is_loadable, QT)) and shutil.which("c++")),
        (seahorse, "Seahorse, Xvfb or gir1.2-atspi-2.0", all(map(shutil.which, ["seahorse", "Xvfb"])) and
         has_accessibility()),
    ]


def main(coffer, *names):
    for test, name, is_installed in ready():
        if names and test.__name__ not in names:
            continue
        if not is_installed:
            print(f"{name} is not installed.")
            if os.environ.get("COFFER_REQUIRE_PROGRAMS"):
                sys.exit(1)
            continue
        try:
            with Coffer(coffer) as service:
                test(service)
        except BaseException:
            print(f"In {test.__name__}:", file=sys.stderr)
            raise


if __name__ == "__main__":
    main(*sys.argv[1:])
