"""An HTTPS server that a test controls, with faults that real servers show rarely.

Usage: scripted_server.py DIRECTORY

Makes certificates in DIRECTORY with the program openssl: ca.pem, and client.pem with client.key. Listens on one
port of 127.0.0.1 for each certificate: valid, otherHost, expired, early (not valid yet), selfSigned, forged (not
signed by the authority that it names), stranger (of an authority that nobody trusts). A further port, proxy, is that
of a proxy without TLS, which leads every CONNECT to the port of otherHost. Prints the ports and the SHA-256 hash of
the public key as one line of JSON, then reads commands from standard input, one line of JSON each, and prints one
line of JSON for each. Ends when standard input closes.

    {"do": "answer", "path": PATH, "times": COUNT, "steps": [STEP, …]}
                        answer requests of PATH, COUNT times, after earlier answers for PATH are used
                        up; 0: until another answer for PATH follows
    {"do": "drop", "count": COUNT}
                        close the next COUNT connections after the handshake, before their requests are read
    {"do": "client"}    make another client certificate, client-rsa.pem with client-rsa.key
    {"do": "log"}       the requests so far
    {"do": "clear"}     forget the requests so far

Steps, in lists: ["send", BASE64], ["pause", MILLISECONDS], ["slow", BASE64, MILLISECONDS] (between two bytes),
["endless", BASE64] (until the client leaves), ["close"] (without TLS's closing message), ["reset"]. After its last step
a connection is closed as TLS demands.
"""
import base64
import collections
import contextlib
import hashlib
import json
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

CERTIFICATES = ("valid", "otherHost", "expired", "early", "selfSigned", "forged", "stranger")
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Certificates:
    """What the program openssl makes in a folder."""

    def __init__(self, folder):
        self.folder = folder
        for name, subject in (("ca", "ca"), ("other-ca", "other-ca"), ("forger", "ca")):
            self.key(name)
            self.openssl("req", "-x509", "-new", "-key", f"{name}.key", "-subj", f"/CN={subject}", "-days", "2",
                         "-out", f"{name}.pem", "-addext", "basicConstraints=critical,CA:TRUE")
        self.key("server")
        here = "subjectAltName=IP:127.0.0.1,DNS:localhost"
        self.sign("valid", "server", "ca", here, "2")
        self.sign("otherHost", "server", "ca", "subjectAltName=DNS:other.example", "2")
        # It ends in the second in which it begins: OpenSSL 3.5 refuses an earlier end.
        self.sign("expired", "server", "ca", here, "0")
        self.sign("stranger", "server", "other-ca", here, "2")
        # Without the authority's key identifier, only the signature is wrong.
        self.sign("forged", "server", "forger", here + "\nauthorityKeyIdentifier=none", "2")
        self.openssl("req", "-x509", "-new", "-key", "server.key", "-subj", "/CN=coffer", "-days", "2", "-out",
                     "selfSigned.pem", "-addext", here)
        self.early(here)
        self.key("client")
        self.sign("client", "client", "ca", "extendedKeyUsage=clientAuth", "2")

    def openssl(self, *words):
        return subprocess.run(["openssl", *words], cwd=self.folder, check=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout

    def key(self, name, *algorithm):
        algorithm = algorithm or ("EC", "-pkeyopt", "ec_paramgen_curve:P-256")
        self.openssl("genpkey", "-algorithm", *algorithm, "-out", f"{name}.key")

    def make_rsa_client(self):
        self.key("client-rsa", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
        self.sign("client-rsa", "client-rsa", "ca", "extendedKeyUsage=clientAuth", "2")

    def sign(self, name, key, authority, extension, days):
        (self.folder / f"{name}.ext").write_text(extension + "\n")
        self.openssl("req", "-new", "-key", f"{key}.key", "-subj", f"/CN=coffer {name}", "-out", f"{name}.csr")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
                     "-set_serial", str(1 + len(list(self.folder.iterdir()))), "-days", days, "-extfile",
                     f"{name}.ext", "-out", f"{name}.pem")

    def early(self, extension):
        """A certificate that begins in a day: of OpenSSL's programs, only ca takes its begin before 3.4."""
        (self.folder / "index.txt").write_text("")
        (self.folder / "early.cnf").write_text(
            "[ca]\ndefault_ca=own\n[own]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\n"
            f"default_md=sha256\npolicy=any\nx509_extensions=end\n[any]\ncommonName=supplied\n[end]\n{extension}\n")
        self.openssl("req", "-new", "-key", "server.key", "-subj", "/CN=coffer early", "-out", "early.csr")
        begin, end = (time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + days * 86400)) for days in (1, 2))
        self.openssl("ca", "-batch", "-notext", "-config", "early.cnf", "-cert", "ca.pem", "-keyfile", "ca.key",
                     "-startdate", begin, "-enddate", end, "-in", "early.csr", "-out", "early.pem")

    def context(self, name):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / f"{name}.pem", self.folder / "server.key")
        context.load_verify_locations(self.folder / "ca.pem")
        context.verify_mode = ssl.CERT_OPTIONAL
        return context

    def pin(self):
        key = self.openssl("pkey", "-in", "server.key", "-pubout", "-outform", "DER")
        return hashlib.sha256(key).hexdigest()


class Script:
    """The answers to give and the requests that came."""

    def __init__(self):
        self.lock = threading.Lock()
        self.answers = collections.defaultdict(list)
        self.drops = 0
        self.log = []

    def command(self, words):
        with self.lock:
            if words["do"] == "answer":
                # A later answer replaces one that has no end.
                kept = [answer for answer in self.answers[words["path"]] if answer[0] > 0]
                self.answers[words["path"]] = kept + [[words["times"], words["steps"]]]
            elif words["do"] == "drop":
                self.drops += words["count"]
            elif words["do"] == "clear":
                self.log.clear()
            elif words["do"] == "log":
                return self.log[:]
            else:
                raise ValueError(words["do"])
            return True

    def takes_drop(self):
        with self.lock:
            taken = self.drops > 0
            self.drops -= taken
            return taken

    def steps(self, path):
        with self.lock:
            waiting = self.answers[path]
            if not waiting:
                return [["send", base64.b64encode(NOT_FOUND).decode()]]
            first = waiting[0]
            if first[0] > 0:
                first[0] -= 1
                if first[0] == 0:
                    waiting.pop(0)
            return first[1]


def read_request(connection):
    """Reads one request; None if the client left before its end."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, body = data.split(b"\r\n\r\n", 1)
    first, *lines = head.decode("latin-1").split("\r\n")
    fields = [[part.strip() for part in line.split(":", 1)] for line in lines]
    length = next((int(value) for name, value in fields if name.lower() == "content-length"), 0)
    while len(body) < length:
        more = connection.recv(65536)
        if not more:
            return None
        body += more
    method, target, version = first.split(" ")
    is_encrypted = isinstance(connection, ssl.SSLSocket)
    peer = is_encrypted and connection.getpeercert() or {}
    names = [value for part in peer.get("subject", ()) for key, value in part if key == "commonName"]
    return {"method": method, "target": target, "version": version, "fields": fields,
            "body": base64.b64encode(body).decode(), "client": names[0] if names else None,
            "tls": connection.version() if is_encrypted else ""}


def perform(connection, steps):
    """Plays an answer. Returns whether the connection is to be closed as TLS demands."""
    for step, *rest in steps:
        if step == "send":
            connection.sendall(base64.b64decode(rest[0]))
        elif step == "pause":
            time.sleep(rest[0] / 1000)
        elif step == "slow":
            for byte in base64.b64decode(rest[0]):
                connection.sendall(bytes([byte]))
                time.sleep(rest[1] / 1000)
        elif step == "endless":
            piece = base64.b64decode(rest[0])
            while True:
                connection.sendall(piece)
        elif step == "close":
            return False
        elif step == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return False
        else:
            raise ValueError(step)
    return True


def serve(plain, context, name, script):
    """Serves one connection."""
    with contextlib.suppress(OSError, ValueError), plain:
        plain.settimeout(60)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # SSLSocket.close() sends no closing message; unwrap() does.
        with context.wrap_socket(plain, server_side=True) as connection:
            if script.takes_drop():
                return
            request = read_request(connection)
            if request is None:
                return
            with script.lock:
                script.log.append(request | {"certificate": name})
            if perform(connection, script.steps(request["target"].split("?")[0])):
                connection.settimeout(2)
                connection.unwrap()


def copy(source, target):
    """Forwards bytes in one direction until they end."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def forward(client, port, script):
    """Serves one connection of the proxy."""
    with contextlib.suppress(OSError, ValueError), client:
        client.settimeout(60)
        request = read_request(client)
        if request is None:
            return
        with script.lock:
            script.log.append(request | {"certificate": "proxy"})
        with socket.create_connection(("127.0.0.1", port), timeout=60) as server:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=copy, args=(server, client), daemon=True)
            back.start()
            copy(client, server)
            back.join()


def listen(listener, target, *arguments):
    while True:
        plain, _ = listener.accept()
        threading.Thread(target=target, args=(plain, *arguments), daemon=True).start()


def main():
    folder = pathlib.Path(sys.argv[1])
    certificates = Certificates(folder)
    script = Script()
    ports = {}
    for name in (*CERTIFICATES, "proxy"):
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        ports[name] = listener.getsockname()[1]
        if name == "proxy":
            service = (forward, ports["otherHost"], script)
        else:
            service = (serve, certificates.context(name), name, script)
        threading.Thread(target=listen, args=(listener, *service), daemon=True).start()
    print(json.dumps({"ports": ports, "pin": certificates.pin()}), flush=True)
    for line in sys.stdin:
        words = json.loads(line)
        if words["do"] == "client":
            certificates.make_rsa_client()
            print("true", flush=True)
        else:
            print(json.dumps(script.command(words)), flush=True)
    os._exit(0)


main()
