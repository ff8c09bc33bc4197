#!/usr/bin/python3
"""The administrator's policy and `coffer serve`: it limits the life of stored secrets, and a mistake stops its start.

Usage: policy.py COFFER

Needs root, for a mount namespace with another /etc and files in it that belong to root.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from client import Client, Refused  # noqa: E402
from laws import own  # noqa: E402
from services import Coffer  # noqa: E402

INSIDE = "COFFER_TEST_POLICY_INSIDE"
FOLDER = "/etc/coffer/policy.d"


def set_policy(text):
    os.makedirs(FOLDER, mode=0o755, exist_ok=True)
    with open(FOLDER + "/10.json", "w") as file:
        file.write(text)


def refused(name, body):
    try:
        body()
    except Refused as error:
        assert error.name == name, error
        return str(error)
    raise AssertionError("it was not refused")


def tokens(service):
    return json.loads(service.run("token", "list", "--json").stdout)["tokens"]


def life(coffer):
    """What is stored expires in time, and an expired secret is not handed out."""
    set_policy('{"TokenLifetimeSeconds": 900}')
    with Coffer(coffer) as service:
        client = Client(service.address)
        attributes = own(state="limited")
        item = client.create(attributes, b"secret")
        client.set(item, b"other")
        assert client.get(item) == b"other"
        stored = tokens(service)
        assert stored and all(token["expires"] is not None for token in stored), stored
        # The same token, as it is when its time is over.
        names = [token for token in stored if not token["service"].endswith("collections")]
        for token in names:
            words = ["token", "put", token["service"], token["account"], "--kind", token["kind"],
                     "--expires", "2020-01-01T00:00:00Z"]
            subprocess.run(
                [coffer, *words, "--home", service.home], env=service.environment, input=b"other", check=True,
                capture_output=True, timeout=60)
        message = refused("AccessDenied", lambda: client.get(item))
        assert "policy" in message, message
        client.set(item, b"new")
        assert client.get(item) == b"new"


def wait_until(is_done, what):
    end = time.monotonic() + 20
    while not is_done():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def elsewhere(coffer):
    """An unlock by another program is one for the service, too: what it stores then obeys the policy of that time."""
    set_policy("{}")
    with Coffer(coffer, passcode="correct horse") as service:
        client = Client(service.address)
        default = client.alias("default")

        def is_locked():
            return client.property(default, "Collection", "Locked")

        for policy, is_limited in (("{}", False), ('{"TokenLifetimeSeconds": 900}', True)):
            service.run("lock")
            wait_until(is_locked, "the service did not notice the lock")
            set_policy(policy)
            service.run("unlock")
            wait_until(lambda: not is_locked(), "the service did not notice the unlock")
            client.create(own(state=policy), b"secret")
            stored = [token for token in tokens(service) if not token["service"].endswith("collections")]
            assert any(token["expires"] is not None for token in stored) == is_limited, (policy, stored)


def mistake(coffer):
    """A policy that cannot be understood stops unlocking and the service's start, but not an open session."""
    set_policy("{}")
    with Coffer(coffer) as service:
        client = Client(service.address)
        item = client.create(own(state="kept"), b"before")
        set_policy('{"AllowExport": 1}')
        # A session goes on with the policy with which it began.
        client.set(item, b"open")
        client.lock(client.alias("default"))
        client.unlock(client.alias("default"))
        refused("IsLocked", lambda: client.get(item))
        service.kill()
        # The service opens the vault at its start.
        done = service.run("serve", check=False)
        assert done.returncode == 11 and b"10.json" in done.stderr, done
        set_policy("{}")
        service.serve()
        client = Client(service.address)
        client.unlock(client.alias("default"))
        assert client.get(item) == b"open"
        set_policy('{"AllowExport": 1}')
        assert service.run("lock").returncode == 0 and service.run("status").returncode == 0


def main(coffer):
    if INSIDE not in os.environ:
        with tempfile.TemporaryDirectory(prefix="coffer-etc-") as copy:
            subprocess.run(["cp", "-a", "/etc/.", copy], check=True)
            subprocess.run(["rm", "-rf", copy + "/coffer"], check=True)
            done = subprocess.run(
                ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc && exec "$@"', copy, sys.executable,
                 os.path.abspath(__file__), coffer],
                env={**os.environ, INSIDE: "1"}, timeout=240)
            sys.exit(done.returncode)
    life(coffer)
    elsewhere(coffer)
    mistake(coffer)


if __name__ == "__main__":
    main(sys.argv[1])
