"""A proxy between a client and a server that loses, cuts and delays answers, and writes down the requests.

It ends the client's TLS and makes its own to the server, so that it counts bytes of HTTP. One request for each
connection. Client certificates do not go through.

A fault is one line of JSON:
    {"do": "fault", "kind": KIND, "path": PATH, "bytes": COUNT, "milliseconds": TIME, "times": COUNT}
kind:  refuse    the connection is closed before the request reaches the server
       swallow   the server gets the request; of its answer only the first bytes come, then nothing more, without an end
       cut       the same, and then the connection ends without TLS's closing message
       reset     the same, with a TCP reset, which may overtake those bytes
       delay     the answer comes late
       repeat    the answer comes twice
path: the request's path; without it, every path. bytes 0, milliseconds 0 and times 1 need not be written.
"""
import json
import socket
import ssl
import struct
import threading
import time

from bed import Failure, append, entry

KINDS = {"refuse", "swallow", "cut", "reset", "delay", "repeat"}
LONGEST = 60


class Proxy:
    def __init__(self, bed, upstream, log, port=0):
        self.upstream, self.log, self.lock, self.faults = upstream, log, threading.Lock(), []
        log.touch()
        self.inner = bed.context()
        self.outer = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.outer.load_cert_chain(bed.certificate, bed.key)
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def add(self, words):
        """Takes a fault that will strike the next request that it fits."""
        if words.get("kind") not in KINDS:
            raise Failure(f"kind must be one of {', '.join(sorted(KINDS))}.")
        with self.lock:
            self.faults.append({"path": None, "bytes": 0, "milliseconds": 0, "times": 1, **words})

    def clear(self):
        with self.lock:
            self.faults.clear()

    def fault(self, path):
        with self.lock:
            found = next((fault for fault in self.faults if fault["path"] in (None, path)), None)
            if found:
                found["times"] -= 1
                if found["times"] <= 0:
                    self.faults.remove(found)
            return found

    def requests(self):
        with self.lock, open(self.log, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection, time.time()), daemon=True).start()

    def serve(self, plain, came):
        try:
            plain.settimeout(LONGEST)
            with self.outer.wrap_socket(plain, server_side=True) as client:
                self.pass_on(client, came)
        except (OSError, ValueError):
            pass

    def pass_on(self, client, came):
        """One request and its answer."""
        head, body = message(client, ends=False)
        if not head:
            return
        first, *fields = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        fault = self.fault(target.partition("?")[0])
        kind = fault["kind"] if fault else None
        if kind == "refuse":
            self.note(method, target, body, None, b"", kind, came)
            return
        fields = [field for field in fields if not field.lower().startswith("connection:")]
        with socket.create_connection(("127.0.0.1", self.upstream), LONGEST) as connection:
            with self.inner.wrap_socket(connection, server_hostname="localhost") as server:
                head = "\r\n".join([first, *fields, "Connection: close"]).encode("latin-1")
                server.sendall(head + b"\r\n\r\n" + body)
                answer, content = message(server, ends=True)
        status = int(answer.split(b" ", 2)[1]) if b" " in answer else None
        self.note(method, target, body, status, content, kind, came)
        strike(client, answer + b"\r\n\r\n" + content, fault)

    def note(self, method, target, body, status, answer, kind, came):
        append(self.log, self.lock, entry(method, target, body, status, answer, kind, came))


def message(connection, ends):
    """Reads a head and a body. Without a length, an answer goes on to the connection's end; a request has no body."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return data, b""
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    lengths = [int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    wanted = lengths[0] if lengths else None if ends else 0
    while wanted is None or len(body) < wanted:
        more = connection.recv(65536)
        if not more:
            break
        body += more
    return head, body


def strike(client, answer, fault):
    """Sends an answer, or what the fault leaves of it."""
    kind = fault["kind"] if fault else None
    if kind == "delay":
        time.sleep(fault["milliseconds"] / 1000)
    if kind in ("swallow", "cut", "reset"):
        client.sendall(answer[:fault["bytes"]])
        if kind == "swallow":
            # Until the client leaves.
            client.settimeout(3600)
            while client.recv(65536):
                pass
        if kind == "reset":
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return
    client.sendall(answer * (2 if kind == "repeat" else 1))
    client.unwrap()
