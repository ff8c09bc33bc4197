#!/usr/bin/python3
"""Stands for the mock service of libsecret's own tests: starts `coffer serve` on a copy of a prepared vault.

The tests start it by the name of the mock's file, such as mock-service-normal.py, on their session bus, read the
service's unique name from the first line of its output, and end it with SIGTERM. The vaults and the command are in
the environment: COFFER_SUITE_VAULTS, COFFER_SUITE_COMMAND.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import dbus
import dbus.bus

NAME = "org.freedesktop.secrets"


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def wait_for_service(service):
    bus = dbus.bus.BusConnection(os.environ["DBUS_SESSION_BUS_ADDRESS"])
    end = time.monotonic() + 30
    while not bus.name_has_owner(NAME):
        if service.poll() is not None or time.monotonic() > end:
            sys.exit("coffer serve does not start")
        time.sleep(0.005)
    owner = bus.get_name_owner(NAME)
    bus.close()
    return owner


def main():
    kind = os.path.basename(sys.argv[0]).removeprefix("mock-service-").removesuffix(".py")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    directory = tempfile.mkdtemp(prefix="vault-", dir=os.environ["COFFER_SUITE_VAULTS"])
    service = None
    try:
        home = os.path.join(directory, "home")
        shutil.copytree(os.path.join(os.environ["COFFER_SUITE_VAULTS"], kind), home)
        service = subprocess.Popen(
            [os.environ["COFFER_SUITE_COMMAND"], "serve", "--home", home, "--interaction", "never"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
        print(wait_for_service(service), flush=True)
        service.wait()
        sys.exit(f"coffer serve ended with {service.returncode}")
    finally:
        if service is not None:
            service.kill()
            service.wait()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
