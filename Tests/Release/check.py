#!/usr/bin/env python3
"""Checks that programs are what Scripts/build-release claims: Swift's libraries and the C++ library inside,
packed relocations, no symbols, the hardening of every build; and that they start, and coffer gives back a
token.

Usage: check.py FOLDER PROGRAM ...
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What a program may load: the C library and the libraries of Debian that the README names.
allowed = re.compile(
    r"ld-linux-.*|linux-vdso.*|libc|libm|libgcc_s|libcrypto|libsodium|libsqlite3|libgio-2\.0|libgobject-2\.0"
    r"|libglib-2\.0|libcurl|libssl")


def output(command, **options):
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                         **options)
    if run.returncode != 0:
        sys.exit(f"{command}: ended with {run.returncode}: {run.stderr[-500:]}")
    return run.stdout


def problems(program):
    """What is wrong with how a program is linked."""
    dynamic = output(["readelf", "-dW", program])
    headers = output(["readelf", "-lhW", program])
    sections = output(["readelf", "-SW", program])
    needed = [name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)]
    stack = re.search(r"GNU_STACK(?:\s+0x\w+){5}\s+([RWE ]+?)\s+(?:0x)?\d", headers)
    relocations = int((re.search(r"\(RELASZ\)\s+(\d+)", dynamic) or [0, 0])[1]) // 24
    packed = int((re.search(r"\(RELRSZ\)\s+(\d+)", dynamic) or [0, 0])[1])
    # What only another program of this package may load.
    others = {"libsqlite3", "libcurl", "libssl"} if pathlib.Path(program).name == "coffer" else set()
    foreign = [name for name in needed if not allowed.fullmatch(name) or name in others]
    runpath = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
    facts = {
        f"loads only the system's C libraries, not {foreign}": needed and not foreign,
        "relocations are packed": packed > 0 and relocations < 1000,
        "has no symbols": ".symtab" not in sections and ".debug_info" not in sections,
        f"has no path of its own for libraries, such as {runpath}": not any(
            not path.startswith("$ORIGIN") for entry in runpath for path in entry.split(":")),
        "position-independent": re.search(r"Type:\s+DYN", headers) and re.search(r"Flags:.*\bPIE\b", dynamic),
        "binds every symbol at the start": "BIND_NOW" in dynamic and re.search(r"Flags:.*\bNOW\b", dynamic),
        "relocations become read-only": "GNU_RELRO" in headers,
        "no segment is writable and executable": not re.search(r"LOAD.*\bRWE\b", headers),
        "the stack is not executable": stack and stack[1].replace(" ", "") == "RW",
    }
    return [fact for fact, holds in facts.items() if not holds]


def give_back(coffer):
    """Stores a token and gets it back."""
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder) / "vault"
        environment = {"PATH": os.environ["PATH"], "HOME": folder, "SWIFT_BACKTRACE": "enable=no"}
        output([coffer, "init", "--home", home, "--keyring", "file", "--no-passcode"], env=environment)
        token = "token of a check"
        put = [coffer, "token", "put", "svc", "ada", "--home", home]
        stored = subprocess.run(put, input=token, text=True, env=environment, timeout=60, capture_output=True)
        found = output([coffer, "token", "get", "svc", "ada", "--home", home], env=environment)
        return stored.returncode == 0 and found == token


def main():
    folder, *names = sys.argv[1:]
    if not names:
        sys.exit(__doc__)
    # A check that finds nothing wrong with everything would be none.
    if not problems(sys.executable):
        sys.exit("The check finds nothing wrong with Python's own program.")
    wrong = 0
    for name in names:
        program = str(pathlib.Path(folder) / name)
        for fact in problems(program):
            print(f"{name}: not true: {fact}")
            wrong += 1
        output([program, "--version"] if name == "coffer" else [program, "--help"])
    if "coffer" in names and not give_back(str(pathlib.Path(folder) / "coffer")):
        print("coffer does not give back a token")
        wrong += 1
    print(f"{', '.join(names)}: {wrong} wrong")
    sys.exit(1 if wrong else 0)


main()
