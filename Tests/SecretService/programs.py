#!/usr/bin/python3
"""Real programs with `coffer serve`: secret-tool, git, docker's helper, and two modules of Python.

Usage: programs.py COFFER

A program that is not installed is named and left out. With COFFER_REQUIRE_PROGRAMS in the environment, that is an error,
but for git's helper: its source is documentation, which some systems leave out.
"""
import json
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from client import Client  # noqa: E402
from services import Coffer  # noqa: E402

GIT_SOURCE = "/usr/share/doc/git/contrib/credential/libsecret/git-credential-libsecret.c"


def run(service, *arguments, input="", check=True):
    done = subprocess.run(
        arguments, env=service.environment, input=input.encode(), capture_output=True, timeout=60)
    if check:
        assert done.returncode == 0, (arguments, done.returncode, done.stderr.decode())
    return done


def secret_tool(service):
    for secret in ["one", "two\nlines\n", "ü"]:
        run(service, "secret-tool", "store", "--label=A label", "site", "example", "user", "me", input=secret)
        found = run(service, "secret-tool", "lookup", "site", "example", "user", "me").stdout.decode()
        assert found == secret, found
    shown = run(service, "secret-tool", "search", "--all", "site", "example")
    assert b"label = A label" in shown.stdout and b"attribute.user = me" in shown.stderr + shown.stdout
    service.restart()
    assert run(service, "secret-tool", "lookup", "site", "example", "user", "me").stdout.decode() == "ü"
    run(service, "secret-tool", "store", "--label=A", "--collection=session", "k", "v", input="volatile")
    assert run(service, "secret-tool", "lookup", "k", "v").stdout == b"volatile"
    run(service, "secret-tool", "clear", "site", "example")
    assert run(service, "secret-tool", "lookup", "site", "example", check=False).returncode == 1
    run(service, "secret-tool", "store", "--label=A", "locked", "x", input="value")
    # `secret-tool lock` of Debian 12 frees a value twice and crashes, also with gnome-keyring.
    client = Client(service.address)
    client.lock(client.alias("default"))
    # libsecret unlocks what it finds: this vault has no passcode.
    assert run(service, "secret-tool", "lookup", "locked", "x").stdout == b"value"


def git_credential(service):
    program = os.path.join(service.directory, "git-credential-libsecret")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libsecret-1", "glib-2.0"], capture_output=True, check=True)
    subprocess.run(
        ["cc", "-o", program, GIT_SOURCE, *flags.stdout.decode().split()], check=True, capture_output=True)
    asked = "protocol=https\nhost=example.org\nusername=ada\n"
    run(service, program, "store", input=asked + "password=first\n")
    run(service, program, "store", input=asked + "password=second\n")
    assert "password=second" in run(service, program, "get", input=asked).stdout.decode()
    service.restart()
    assert "password=second" in run(
        service, program, "get", input="protocol=https\nhost=example.org\n").stdout.decode()
    run(service, program, "erase", input=asked)
    assert "password" not in run(service, program, "get", input=asked).stdout.decode()


def docker(service):
    helper = "docker-credential-secretservice"
    server = "https://registry.example.org/v1/"
    entry = json.dumps({"ServerURL": server, "Username": "ada", "Secret": "s3cret"})
    run(service, helper, "store", input=entry)
    found = json.loads(run(service, helper, "get", input=server).stdout)
    assert found == {"ServerURL": server, "Username": "ada", "Secret": "s3cret"}
    assert json.loads(run(service, helper, "list").stdout) == {server: "ada"}
    service.restart()
    assert json.loads(run(service, helper, "get", input=server).stdout)["Secret"] == "s3cret"
    run(service, helper, "erase", input=server)
    assert run(service, helper, "get", input=server, check=False).returncode != 0


SECRET_STORAGE = """
import secretstorage
bus = secretstorage.dbus_init()
collection = secretstorage.get_default_collection(bus)
assert not collection.is_locked() and collection.get_label() == "Login"
item = collection.create_item("Label", {"application": "test", "user": "ada"}, b"s3cr\\0et", replace=True)
assert item.get_secret() == b"s3cr\\0et" and item.get_label() == "Label"
assert item.get_attributes()["user"] == "ada"
item.set_secret(b"changed", "application/octet-stream")
assert item.get_secret() == b"changed" and item.get_secret_content_type() == "application/octet-stream"
found = list(collection.search_items({"application": "test"}))
assert [one.item_path for one in found] == [item.item_path]
item.set_label("Other"); item.set_attributes({"application": "test", "user": "bob"})
assert item.get_label() == "Other" and item.get_attributes()["user"] == "bob"
other = secretstorage.create_collection(bus, "Of Python", "ofpython")
inside = other.create_item("Inside", {"where": "inside"}, b"x")
assert [one.item_path for one in secretstorage.search_items(bus, {"where": "inside"})] == [inside.item_path]
assert len(list(secretstorage.get_all_collections(bus))) == 3
other.delete()
assert list(secretstorage.search_items(bus, {"where": "inside"})) == []
collection.lock()
assert collection.is_locked()
assert collection.unlock() is False and not collection.is_locked()
assert item.get_secret() == b"changed"
item.delete()
assert list(collection.search_items({"application": "test"})) == []
"""

KEYRING = """
import keyring
from keyring.backends import SecretService
backend = SecretService.Keyring()
assert backend.priority >= 5
keyring.set_keyring(backend)
assert keyring.get_password("service", "ada") is None
keyring.set_password("service", "ada", "first")
keyring.set_password("service", "ada", "pässword\\n")
assert keyring.get_password("service", "ada") == "pässword\\n"
assert keyring.get_credential("service", None).username == "ada"
keyring.set_password("service", "bob", "other")
assert keyring.get_password("service", "ada") == "pässword\\n"
for user in ["ada", "bob"]:
    keyring.delete_password("service", user)
assert keyring.get_password("service", "ada") is None
"""


def secret_storage(service):
    run(service, "/usr/bin/python3", "-c", SECRET_STORAGE)


def keyring(service):
    run(service, "/usr/bin/python3", "-c", KEYRING)


# The tests of keyring's backends that come with it.
KEYRING_TESTS = """
from keyring.backends import SecretService
from keyring.testing.backend import BackendBasicTests

class TestService(BackendBasicTests):
    def init_keyring(self):
        return SecretService.Keyring()
"""


def keyring_tests(service):
    file = os.path.join(service.directory, "test_service.py")
    with open(file, "w") as output:
        output.write(KEYRING_TESTS)
    done = run(service, "/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", file)
    assert b" passed" in done.stdout and b"skipped" not in done.stdout, done.stdout.decode()


def has_module(name):
    return subprocess.run(["/usr/bin/python3", "-c", f"import {name}"], capture_output=True).returncode == 0


def ready():
    return [
        (secret_tool, "secret-tool", shutil.which("secret-tool")),
        (git_credential, "git-credential-libsecret", os.path.exists(GIT_SOURCE) and shutil.which("pkg-config")),
        (docker, "docker-credential-secretservice", shutil.which("docker-credential-secretservice")),
        (secret_storage, "python3-secretstorage", has_module("secretstorage")),
        (keyring, "python3-keyring", has_module("keyring")),
        (keyring_tests, "python3-pytest", has_module("keyring.testing.backend, pytest")),
    ]


if __name__ == "__main__":
    for test, name, is_installed in ready():
        if not is_installed:
            print(f"{name} is not installed.")
            if os.environ.get("COFFER_REQUIRE_PROGRAMS") and test is not git_credential:
                sys.exit(1)
            continue
        try:
            with Coffer(sys.argv[1]) as service:
                test(service)
        except BaseException:
            print(f"In {test.__name__}:", file=sys.stderr)
            raise
