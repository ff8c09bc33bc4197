#!/usr/bin/python3
"""Runs the laws of a Secret Service against `coffer serve` and against gnome-keyring.

Usage: contract.py COFFER [--own]

Every law must hold for coffer serve. Where gnome-keyring does something else, DIFFERENCES says why; a law that
gnome-keyring keeps although it is listed there, or breaks although it is not, fails the run. With --own,
gnome-keyring is left out.
"""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import laws  # noqa: E402
from services import Coffer, GnomeKeyring  # noqa: E402

# The laws that gnome-keyring 42.1 of Debian 12 and 48.0 of Debian 13 do not keep, and why ours differ.
DIFFERENCES = {
    "dh_value_zero_is_refused": "It computes with every value: the key is then known to anyone.",
    "dh_value_one_is_refused": "As for zero.",
    "dh_value_of_order_two_is_refused": "As for zero: the key is one of two.",
    "dh_value_prime_is_refused": "As for zero.",
    "dh_value_too_long_is_refused": "It reduces longer values. No client sends any.",
    "content_type_is_kept": "It answers text/plain always. We keep what the program stored.",
    "replace_needs_the_same_attributes":
        "It replaces an item that has more attributes than the new one, and so loses its secret. The "
        "specification says: the same attributes.",
    "collection_gets_its_alias": "It has no aliases but `default`. The specification sets no limit.",
    "alias_can_be_set_and_removed": "As for the alias of a new collection.",
    "alias_of_nothing_is_refused": "It refuses the alias before it looks at the path.",
    "locked_attributes_are_not_shown":
        "It shows the attributes of locked items as long as it runs. Ours are sealed under a key that the "
        "lock evicts.",
    "locked_attributes_are_empty": "As above.",
    "write_while_locked_is_kept": "It refuses writes while locked; git's helper then loses the password.",
    "write_while_locked_is_found_at_once": "As above.",
    "item_change_is_signalled": "It has no signal for a changed secret. The specification names one.",
}

# Those that it keeps or breaks by chance, or that only one of these versions keeps.
SOMETIMES = {
    "dh_output_has_128_bytes": "It leaves out leading zeros, which one value in 256 has.",
    "session_of_another_cannot_be_closed": "48.0 ends when a program closes a session of another one.",
}


def main(arguments):
    failures = 0
    with Coffer(arguments[0]) as ours:
        own = laws.run(ours.address)
    for name, reason in own.items():
        if reason is not None:
            failures += 1
            print(f"coffer serve breaks {name}: {reason}")
    peer = {}
    if "--own" not in arguments:
        with GnomeKeyring() as theirs:
            peer = laws.run(theirs.address, theirs)
    for name, reason in peer.items():
        if name in SOMETIMES:
            continue
        if reason is None and name in DIFFERENCES:
            failures += 1
            print(f"gnome-keyring keeps {name}, which is listed as a difference")
        elif reason is not None and name not in DIFFERENCES:
            failures += 1
            print(f"gnome-keyring breaks {name}, which is not explained: {reason}")
    for name in [*DIFFERENCES, *SOMETIMES]:
        if name not in own:
            failures += 1
            print(f"There is no law {name}.")
    print(f"{len(own)} laws, {len(peer)} of them with gnome-keyring, {len(DIFFERENCES)} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
