#!/usr/bin/python3
"""Runs the README's recipes for the Secret Service as they are printed.

Usage: recipes.py COFFER

Where the recipe asks for a passcode, a script in front of the command gives it; systemctl starts what the installed
unit says.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from services import Bus  # noqa: E402

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../README.md")


def recipe(name):
    with open(README) as file:
        found = re.search(rf"<!-- recipe: {name} -->\n```sh\n(.*?)```", file.read(), re.DOTALL)
    return found.group(1)


class Host(Bus):
    """A directory with a bus, a home, and the programs of the recipes first in PATH."""

    def __init__(self, coffer, passcode):
        super().__init__()
        programs = os.path.join(self.directory, "bin")
        os.mkdir(programs)
        secret = os.path.join(self.directory, "passcode")
        with open(secret, "w") as file:
            file.write("2468\n")
        self.environment["PATH"] = programs + ":" + self.environment["PATH"]
        self.environment["COFFER_HOME"] = os.path.join(self.directory, "home")
        given = f'case "$1" in init|unlock) set -- "$@" --passcode-fd 3; exec 3<"{secret}" ;; esac\n'
        cheap = 'case "$1" in init) set -- "$@" --kdf-memory 8 --kdf-passes 2 --keyring file ;; esac\n'
        self.script(programs, "coffer", cheap + (given if passcode else "") + f'exec "{coffer}" "$@"\n')
        unit = os.path.join(self.directory, "systemd/user/coffer-serve.service")
        self.script(programs, "systemctl", f"""
            test "$*" = '--user enable --now coffer-serve' || exit 1
            line=$(sed -n 's/^ExecStart=//p' "{unit}")
            $line >/dev/null 2>&1 </dev/null &
            echo $! >"{self.directory}/service.pid"
            tries=0
            until "{coffer}" serve --status >/dev/null 2>&1; do
                tries=$((tries + 1)); test $tries -lt 200 || exit 1; sleep 0.05
            done
        """)

    @staticmethod
    def script(directory, name, text):
        path = os.path.join(directory, name)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)

    def sh(self, text):
        done = subprocess.run(
            ["sh", "-e", "-c", text], env=self.environment, capture_output=True, timeout=120,
            stdin=subprocess.DEVNULL)
        assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
        return done.stdout.decode()

    def close(self):
        try:
            with open(os.path.join(self.directory, "service.pid")) as file:
                os.kill(int(file.read()), 9)
        except (OSError, ValueError):
            pass
        super().close()


def server(coffer):
    with Host(coffer, passcode=True) as host:
        if not has_keyring(host):
            print("There is no kernel keyring: the recipe for servers is not run.")
            return
        host.sh(recipe("serve-server"))
        assert host.sh("secret-tool lookup service deploy user ada") == "the password\n"


def has_keyring(host):
    """Tries with a vault of its own whether `coffer unlock` can cache keys."""
    other = host.directory + "/other"
    done = subprocess.run(
        ["sh", "-e", "-c", f'coffer init --home "{other}"; coffer unlock --home "{other}"'],
        env=host.environment, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode in (0, 8), (done.returncode, done.stderr)
    return done.returncode == 0


def container(coffer):
    with Host(coffer, passcode=False) as host:
        del host.environment["DBUS_SESSION_BUS_ADDRESS"]
        assert host.sh(recipe("serve-container")).endswith("the password\n")


if __name__ == "__main__":
    for test in [server, container]:
        try:
            test(os.path.abspath(sys.argv[1]))
        except BaseException:
            print(f"In {test.__name__}:", file=sys.stderr)
            raise
