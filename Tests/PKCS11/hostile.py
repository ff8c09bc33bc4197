"""p11-kit's protocol by hand: lying lengths, half messages, and a client that never reads."""

import os
import random
import subprocess
import time

from world import DEADLINE, Failed, World, check

# What no client sends: p11-kit's protocol by hand. A message has a head with its number and the sizes of the
# options and of the body, which begins with the call and the form of its arguments.

def message(call, form, body=b"", options=b"", size=None):
    content = call.to_bytes(4, "big") + len(form).to_bytes(4, "big") + form + body
    size = len(content) if size is None else size
    return (1).to_bytes(4, "big") + len(options).to_bytes(4, "big") + size.to_bytes(4, "big") + options + content


def exchanged(world, data, seconds=20, close=True):
    """Sends bytes to the module, then the end. Returns how it ended and what it answered."""
    process = world.start([world.coffer, "pkcs11", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    try:
        answer = process.communicate(data, seconds)[0]
        return process.returncode, answer
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def hostile(coffer):
    """Lying lengths, half messages, a client that never reads: the module ends with the client, not by a signal."""
    world = World(coffer, passcode=False)
    try:
        world("key", "generate", "work", "--algorithm", "p256", "--use", "sign")
        hello = message(1, b"ayyay", (41).to_bytes(4, "big") + b"PRIVATE-GNOME-KEYRING-PKCS11-PROTOCOL-V-1"
                        + b"\0" + (0).to_bytes(4, "big"))
        slots = message(4, b"yfu", b"\1" + (16).to_bytes(4, "big"))
        code, answer = exchanged(world, b"\0" + hello + slots)
        check(code == 0 and len(answer) > 40, f"the undamaged exchange fails: {code} {answer!r}")
        code, answer = exchanged(world, b"")
        check(code > 0 and answer == b"", f"no client: {code} {answer!r}")
        whole = hello + slots
        chance = random.Random(21)
        cases = [whole[:size] for size in range(0, len(whole), 7)]
        cases += [message(4, b"yfu", size=size) for size in (0, 1, 1 << 20, (1 << 31) - 1, (1 << 32) - 1)]
        cases += [hello + message(call, form) for call in (0, 2, 17, 25, 43, 44, 65, 66, 1 << 31)
                  for form in (b"", b"uaA", b"yfu", b"x" * 5000)]
        # Searches and questions with absurd counts of attributes, and values that are not there
        cases += [hello + message(27, b"uaA", (1).to_bytes(8, "big") + count.to_bytes(4, "big") + b"\xff" * 40)
                  for count in (1, 1 << 16, 1 << 31, (1 << 32) - 1)]
        for _ in range(30):
            damaged = bytearray(whole)
            for _ in range(chance.randint(1, 6)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            cases.append(bytes(damaged))
        for case in cases:
            code, _ = exchanged(world, b"\0" + case)
            check(code >= 0, f"ended by signal {-code}: {case[:80].hex()}")
        unread(world, hello, slots)
    finally:
        world.close()


def unread(world, hello, slots):
    """A client that sends and never reads, then dies; one that lives on and is silent costs nothing."""
    process = world.start([world.coffer, "pkcs11", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL)
    try:
        os.set_blocking(process.stdin.fileno(), False)
        process.stdin.raw.write(b"\0" + hello)
        end, last = time.monotonic() + DEADLINE, time.monotonic()
        while time.monotonic() - last < 1:
            check(time.monotonic() < end, "the module reads for ever")
            if process.stdin.raw.write(slots * 50):
                last = time.monotonic()
            else:
                time.sleep(0.02)
        check(process.poll() is None, "it ended although the client lives")
        process.stdin.close()
        process.stdout.close()
        process.wait(20)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
            raise Failed("the module outlives its client")
