#!/usr/bin/python3
"""A disk that is full while `coffer serve` runs: nothing is lost, and it goes on when there is room again.

Usage: disk.py COFFER
"""
import os
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from client import Client, Refused  # noqa: E402
from laws import own  # noqa: E402
from services import Coffer  # noqa: E402


def limit(service, size):
    """Limits the size of the files that the service writes, as a full disk does."""
    resource.prlimit(service.service.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def main(coffer):
    with Coffer(coffer) as service:
        client = Client(service.address)
        attributes = own(state="kept")
        item = client.create(attributes, b"before")
        limit(service, 64)
        for body in [
            lambda: client.create(own(), b"no room"), lambda: client.set(item, b"no room"),
            lambda: client.delete(item), lambda: client.new_collection("No room"),
        ]:
            try:
                body()
                raise AssertionError("a full disk took a change")
            except Refused as error:
                assert error.name in ("NoMemory", "Failed"), error
            assert service.service.poll() is None
            assert client.get(item) == b"before"
        # A lock needs no room; the index is written again when there is some.
        client.lock(client.alias("default"))
        assert client.search(attributes) == ([], [item])
        client.unlock(client.alias("default"))
        assert client.get(item) == b"before"
        limit(service, resource.RLIM_INFINITY)
        client.set(item, b"after")
        assert client.get(item) == b"after"
        service.restart()
        other = Client(service.address)
        assert other.search(attributes)[0] == [item] and other.get(item) == b"after"


if __name__ == "__main__":
    main(sys.argv[1])
