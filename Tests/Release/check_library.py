#!/usr/bin/env python3
"""Checks an installed libcoffer: a program that is built with pkg-config alone calls every function, in C and in
C++; the library exports coffer_* alone and loads only the system's C libraries.

Usage: check_library.py PREFIX
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

prefix = pathlib.Path(sys.argv[1]).resolve()
root = pathlib.Path(__file__).resolve().parents[2]
allowed = re.compile(
    r"ld-linux-.*|libc|libm|libgcc_s|libcrypto|libsodium|libgio-2\.0|libgobject-2\.0|libglib-2\.0")


def output(command, **options):
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, **options)
    if run.returncode != 0:
        sys.exit(f"{command}: ended with {run.returncode}: {run.stderr[-500:]}")
    return run.stdout


def main():
    environment = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"),
                       LD_LIBRARY_PATH=str(prefix / "lib"))
    flags = output(["pkg-config", "--cflags", "--libs", "coffer"], env=environment).split()
    library = prefix / "lib/libcoffer.so.0"
    dynamic = output(["readelf", "-dW", library])
    needed = [name.split(".so")[0] for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)]
    foreign = [name for name in needed if not allowed.fullmatch(name)]
    symbols = [line.split()[-1].split("@")[0] for line in
               output(["nm", "-D", "--defined-only", library]).splitlines()]
    symbols = [name for name in symbols if name != "COFFER_0"]
    others = [name for name in symbols if not name.startswith("coffer_")]
    if foreign or others or not needed or "NODELETE" not in dynamic:
        sys.exit(f"loads {foreign}, exports {others}, or can be unloaded")
    with tempfile.TemporaryDirectory() as folder:
        for number, compiler in enumerate([["gcc", "-std=gnu99"], ["g++", "-x", "c++"]]):
            program = str(pathlib.Path(folder) / f"contract{number}")
            source = [str(root / "Tests/CInterface/contract.c"), "-x", "none"]
            output(compiler + source + flags + ["-o", program], env=environment)
            home = str(pathlib.Path(folder) / f"home{number}")
            if output([program, home], env=environment, stdin=subprocess.DEVNULL) != "ok\n":
                sys.exit(f"{program} does not say ok")
    print(f"libcoffer: {len(symbols)} functions, {library.stat().st_size} bytes, loads {', '.join(needed)}")


main()
