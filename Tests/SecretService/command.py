#!/usr/bin/python3
"""The command itself: a private bus for a command, --status, --install and --replace.

Usage: command.py COFFER
"""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import laws  # noqa: E402
from client import Client  # noqa: E402
from services import Coffer, die_with_parent  # noqa: E402


def private_bus(service):
    """A command on a bus of its own finds the vault's secrets, and everything ends with it."""
    before = set(os.listdir(service.directory))
    done = run(service, "sh", "-c", "echo kept | secret-tool store --label=L k v && secret-tool lookup k v")
    assert done.returncode == 0 and done.stdout == b"kept\n", (done.returncode, done.stderr)
    assert run(service, "secret-tool", "lookup", "k", "v").stdout == b"kept\n"
    assert run(service, "sh", "-c", "exit 42").returncode == 42
    assert run(service, "no-such-program-here").returncode == 127
    assert run(service, "sh", "-c", "kill -TERM $$").returncode == 128 + 15
    address = run(service, "sh", "-c", "echo $DBUS_SESSION_BUS_ADDRESS").stdout.decode().strip()
    assert address.startswith("unix:path=") and address != service.address
    path = address.removeprefix("unix:path=").split(",")[0]
    assert not os.path.exists(path) and not os.path.exists(os.path.dirname(path))
    assert set(os.listdir(service.directory)) == before, set(os.listdir(service.directory)) - before


def killed(service):
    """The bus goes with a command that is killed."""
    words = [service.coffer, "serve", "--home", service.home, "--", "sh", "-c",
             "echo $DBUS_SESSION_BUS_ADDRESS; exec cat"]
    child = subprocess.Popen(
        words, env=service.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        stdin=subprocess.PIPE, preexec_fn=die_with_parent)
    path = child.stdout.readline().decode().strip().removeprefix("unix:path=").split(",")[0]
    assert os.path.exists(path)
    child.kill()
    child.wait()
    # The command itself goes on: it ends with its input.
    child.stdin.close()
    end = time.monotonic() + 30
    while os.path.exists(os.path.dirname(path)):
        assert time.monotonic() < end, "the bus is still there"
        time.sleep(0.02)


def run(service, *command):
    return subprocess.run(
        [service.coffer, "serve", "--home", service.home, "--", *command], env=service.environment,
        capture_output=True, timeout=60, stdin=subprocess.DEVNULL)


def taken(service):
    """A second service is refused, unless it replaces the first, which then says who took the name."""
    words = [service.coffer, "serve", "--home", service.home]
    second = subprocess.run(
        words, env=service.environment, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    assert second.returncode == 13, second
    assert str(service.service.pid).encode() in second.stderr, second.stderr
    status = service.run("serve", "--status", "--json")
    assert json.loads(status.stdout) == {"process": service.service.pid, "program": "coffer"}, status.stdout
    first = service.service
    service.serve("--replace")
    assert first.wait(timeout=30) == 10
    status = service.run("serve", "--status", "--json")
    assert json.loads(status.stdout)["process"] == service.service.pid


def none(service):
    service.kill()
    assert service.run("serve", "--status", check=False).returncode == 8
    without = dict(service.environment)
    del without["DBUS_SESSION_BUS_ADDRESS"]
    without["XDG_RUNTIME_DIR"] = ""
    done = subprocess.run(
        [service.coffer, "serve", "--home", service.home], env=without, capture_output=True, timeout=60,
        stdin=subprocess.DEVNULL)
    assert done.returncode == 8 and b"coffer serve -- COMMAND" in done.stderr, done
    service.serve()


def install(service):
    done = service.run("serve", "--install", "--json")
    unit, activation = json.loads(done.stdout)["files"]
    assert unit == service.directory + "/systemd/user/coffer-serve.service"
    assert activation == service.directory + "/dbus-1/services/org.freedesktop.secrets.service"
    with open(unit) as file:
        text = file.read()
    assert f"--home {service.home} " in text and "BusName=org.freedesktop.secrets" in text
    with open(activation) as file:
        assert "SystemdService=coffer-serve.service" in file.read()
    service.run("serve", "--install")
    with open(unit, "a") as file:
        file.write("# of the user\n")
    assert service.run("serve", "--install", check=False).returncode == 13
    service.run("serve", "--install", "--replace")
    with open(unit) as file:
        assert file.read() == text


def install_elsewhere(service):
    """A home that is a link, a vault whose path is relative, and characters that only systemd expands."""
    real = os.path.join(service.directory, "real")
    link = os.path.join(service.directory, "link")
    os.mkdir(real)
    os.symlink("real", link)
    environment = {key: value for key, value in service.environment.items() if not key.startswith("XDG_")}
    subprocess.run(
        [service.coffer, "serve", "--install", "--home", "a %$vault"], env={**environment, "HOME": link}, cwd=real,
        check=True, capture_output=True, timeout=60)
    with open(os.path.join(real, ".config/systemd/user/coffer-serve.service")) as file:
        assert f'--home "{real}/a %%$$vault" ' in file.read()
    with open(os.path.join(real, ".local/share/dbus-1/services/org.freedesktop.secrets.service")) as file:
        assert f'--home "{real}/a %$vault" ' in file.read()


def activated(service):
    """The bus starts the service from the installed file when a program asks for it."""
    service.run("serve", "--install", "--replace")
    with open(os.path.join(service.directory, "dbus-1/services/org.freedesktop.secrets.service")) as file:
        lines = [line for line in file if not line.startswith("SystemdService")]
    services = os.path.join(service.directory, "services")
    os.mkdir(services)
    with open(os.path.join(services, "org.freedesktop.secrets.service"), "w") as file:
        file.writelines(lines)
    configuration = os.path.join(service.directory, "second.conf")
    address = f"unix:path={service.directory}/second"
    with open(os.path.join(service.directory, "bus.conf")) as file:
        text = file.read().replace(service.address, address)
    with open(configuration, "w") as file:
        file.write(text.replace("<auth>", f"<servicedir>{services}</servicedir><auth>"))
    environment = dict(service.environment, DBUS_SESSION_BUS_ADDRESS=address)
    service.environment["DBUS_SESSION_BUS_ADDRESS"] = address
    bus = service.start(["dbus-daemon", "--nofork", f"--config-file={configuration}"])
    end = time.monotonic() + 30
    while not os.path.exists(address.removeprefix("unix:path=")):
        assert time.monotonic() < end
        time.sleep(0.02)
    done = subprocess.run(
        ["secret-tool", "lookup", "k", "v"], env=environment, capture_output=True, timeout=60)
    assert done.stdout == b"kept\n", done
    bus.kill()


def refused(service):
    for words in [["--install", "--status"], ["--status", "--", "true"], ["--interaction", "sometimes"]]:
        done = service.run("serve", *words, check=False)
        assert done.returncode != 0, words


def classes(service):
    """The owner chooses items' protection class; a new secret keeps it, and a locked vault shows none of them."""
    client = Client(service.address)

    def protection(path):
        listed = json.loads(service.run("token", "list", "--json").stdout)["tokens"]
        return [one["class"] for one in listed if one["account"] == path.rsplit("/", 1)[1]]

    item = client.create({"class": "1"}, b"first")
    assert protection(item) == ["whenUnlockedThisDeviceOnly"]
    service.run("settings", "--movable", "on")
    movable = client.create({"class": "2"}, b"first")
    assert protection(movable) == ["whenUnlocked"] and protection(item) == ["whenUnlockedThisDeviceOnly"]
    name = f"secret-service%2Flogin/{item.rsplit('/', 1)[1]}#other"
    service.run("reclass", name, "--class", "afterFirstUnlock")
    client.set(item, b"second")
    assert protection(item) == ["afterFirstUnlock"] and client.get(item) == b"second"
    assert client.create({"class": "1"}, b"third", replace=True) == item
    assert protection(item) == ["afterFirstUnlock"] and client.get(item) == b"third"
    client.lock(client.alias("default"))
    for path in [item, movable]:
        laws.refused("IsLocked", lambda path=path: client.get(path))
    client.unlock(client.alias("default"))
    assert client.get(item) == b"third"
    service.run("settings", "--movable", "off")
    client.close()


if __name__ == "__main__":
    with Coffer(sys.argv[1]) as service:
        for test in [private_bus, killed, taken, none, install, install_elsewhere, classes, refused, activated]:
            try:
                test(service)
            except BaseException:
                print(f"In {test.__name__}:", file=sys.stderr)
                raise
