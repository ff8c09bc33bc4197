#!/usr/bin/python3
"""Runs libsecret's own test programs against `coffer serve`, and compares what fails with the list.

Usage: suite.py COFFER BUILD [PROGRAM …]
  BUILD     the directory where libsecret was built, whose sources have mock.py in place of each mock service
  PROGRAM   names such as test-item; all of them unless named

Each test runs in a process of its own, on a bus and a vault of its own. The program ends with 1 if a test fails that
expected-failures.txt does not know, if one passes that it says fails, and if one does not end in time.
"""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "SecretService"))

import dbus  # noqa: E402

from client import ROOT, SECRET, Client  # noqa: E402
from services import Bus, Coffer  # noqa: E402

PROGRAMS = [
    "test-service", "test-collection", "test-item", "test-password", "test-session", "test-prompt", "test-methods",
]
DEADLINE = 60

# The mock's collections: the label, and of each item its name, label, secret and attributes.
STANDARD = {
    "english": ("Collection One", [
        ("1", "Item One", "111", {"number": "1", "string": "one", "even": "false"}),
        ("2", "Item Two", "222", {"number": "2", "string": "two", "even": "true"}),
        ("3", "Item Three", "333", {"number": "3", "string": "three", "even": "false"}),
    ]),
    "spanish": ("Collection", [
        ("10", "", "111", {"number": "1", "string": "uno", "even": "false"}),
        ("20", "", "222", {"number": "2", "string": "dos", "even": "true"}),
        ("30", "", "3333", {"number": "3", "string": "tres", "even": "false"}),
    ]),
    "german": ("Collection", [
        ("300", "", "333", {"number": "3", "string": "drei", "prime": "true"}),
        ("400", "", "444", {"number": "4", "string": "vier", "prime": "false"}),
        ("500", "", "555", {"number": "5", "string": "fuenf", "prime": "true"}),
        ("600", "", "666", {"number": "6", "string": "sechs", "prime": "false"}),
    ]),
    "empty": ("Collection", []),
}
SCHEMAS = {"english": "org.mock.Schema", "spanish": "org.mock.Schema", "german": "org.mock.Primes"}
UNO = ("item", "", "uno", {"number": "1", "string": "one", "even": "false"})
DOS = ("confirm", "", "dos", {"number": "2", "string": "two", "even": "true"})
TRES = ("locked", "", "tres", {"number": "3", "string": "three", "even": "false"})
KINDS = {
    "empty": {},
    "normal": STANDARD,
    "only-plain": STANDARD,
    "prompt": STANDARD,
    "delete": STANDARD | {"todelete": ("Collection", [UNO, DOS]), "twodelete": ("Collection", [TRES])},
    "lock": STANDARD | {"lockone": ("Collection", [UNO, DOS]), "lockprompt": ("Collection", [TRES])},
}


def store(service, client, collection, item):
    """Stores an item under the name that the tests know: of those made on the bus, the service chooses it."""
    name, label, secret, attributes = item
    subprocess.run(
        [service.coffer, "token", "put", "secret-service/" + collection, name, "--kind", "other",
         "--class", "whenUnlocked", "--label", label, "--home", service.home],
        env=service.environment, input=secret.encode(), check=True, capture_output=True, timeout=DEADLINE)
    schema = {"xdg:schema": SCHEMAS[collection]} if collection in SCHEMAS else {}
    path = f"{ROOT}/collection/{collection}/{name}"
    client.set_property(path, "Item", "Label", dbus.String(label, variant_level=1))
    client.set_property(
        path, "Item", "Attributes", dbus.Dictionary(attributes | schema, signature="ss", variant_level=1))


def prepare(coffer, kind, place):
    """Makes a vault with the collections of a mock."""
    with Coffer(coffer, interaction="never") as service:
        fill(service, kind)
        service.service.terminate()
        service.service.wait(DEADLINE)
        shutil.copytree(service.home, place / kind)


def fill(service, kind):
    client = Client(service.address)
    client.call(ROOT + "/collection/login", "Collection", "Delete")
    for name, (label, items) in KINDS[kind].items():
        path, _ = client.new_collection(name, "default" if name == "english" else "")
        assert path == f"{ROOT}/collection/{name}", path
        client.set_property(path, "Collection", "Label", dbus.String(label, variant_level=1))
        for item in items:
            store(service, client, name, item)
    client.close()


class Outcome:
    """What one test did: `passed`, or what it printed."""

    def __init__(self, name, code, text):
        self.name = name
        self.passed = code == 0 and f"ok 1 {name.split(' ')[1]}" in text and "# SKIP" not in text
        self.text = "did not end in time" if code is None else text

    @property
    def line(self):
        said = [line for line in self.text.splitlines() if "ERROR" in line or "CRITICAL" in line]
        return said[0] if said else self.text.strip().replace("\n", " ")[-200:]


def tests(build, program):
    listed = subprocess.run([build / program, "-l"], capture_output=True, text=True, check=True, timeout=DEADLINE)
    return [line for line in listed.stdout.splitlines() if line.startswith("/")]


def run(coffer, build, place, program, test):
    with Bus() as bus:
        environment = bus.environment | {
            "PATH": "/usr/bin:/bin", "COFFER_SUITE_VAULTS": str(place), "COFFER_SUITE_COMMAND": coffer}
        child = subprocess.Popen(
            [build / program, "-p", test], env=environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=bus.directory)
        try:
            text, code = child.communicate(timeout=DEADLINE)[0], child.returncode
        except subprocess.TimeoutExpired:
            text, code = "", None
        finally:
            # Also the mock, if the test left it behind.
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
        return Outcome(f"{program} {test}", code, text)


def expected():
    """Returns the reason of each test that fails, by its name."""
    reasons, found = {}, {}
    for line in (HERE / "expected-failures.txt").read_text().splitlines():
        if line.startswith("reason "):
            name, text = line.removeprefix("reason ").split(": ", 1)
            reasons[name] = text
        elif line and not line.startswith("#"):
            test, _, reason = line.rpartition(" ")
            found[test] = reasons[reason]
    return found


def judge(outcomes, known):
    wrong = 0
    for outcome in outcomes:
        if outcome.passed and outcome.name in known:
            print(f"{outcome.name} passes and is listed as failing")
        elif not outcome.passed and outcome.name not in known:
            print(f"{outcome.name} fails: {outcome.line}")
        else:
            continue
        wrong += 1
    names = {outcome.name for outcome in outcomes}
    programs = {name.split(" ")[0] for name in names}
    for name in known:
        if name not in names and name.split(" ")[0] in programs:
            print(f"{name} is listed, and there is no such test")
            wrong += 1
    passed = sum(outcome.passed for outcome in outcomes)
    print(f"{passed} of {len(outcomes)} tests pass, {len(outcomes) - passed} fail, {wrong} against the list")
    return wrong == 0 and passed > 0


def main(coffer, build, *programs):
    coffer, build = os.path.abspath(coffer), pathlib.Path(build).resolve() / "libsecret"
    with tempfile.TemporaryDirectory(prefix="coffer-libsecret-") as scratch:
        place = pathlib.Path(scratch)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda kind: prepare(coffer, kind, place), KINDS))
            runs = [(program, test) for program in programs or PROGRAMS for test in tests(build, program)]
            outcomes = list(pool.map(lambda one: run(coffer, build, place, *one), runs))
    return 0 if judge(outcomes, expected()) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
