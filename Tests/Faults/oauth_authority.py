"""An authorization server of one client, on loopback with TLS, for the fault tests of the sessions.

It issues codes with PKCE, rotates refresh tokens, and revokes. A refresh token that was spent is refused and
ends its whole family, unless the grace has not passed: then the same successor comes again. Its state can be
kept and put back, and it knows of each answer with tokens whether the client read all of it: a process that
is killed with unread bytes resets its connection.
"""

import base64
import copy
import dataclasses
import hashlib
import http.server
import json
import os
import secrets
import socketserver
import ssl
import subprocess
import threading
import time
import urllib.parse
import urllib.request


@dataclasses.dataclass
class Pair:
    """One answer with tokens."""
    refresh: str
    access: str
    spent: float = None


@dataclasses.dataclass
class Family:
    """The tokens of one sign-in, the oldest first."""
    pairs: list
    is_revoked: bool = False
    revoked_access: set = dataclasses.field(default_factory=set)

    def last(self):
        return self.pairs[-1]

    def is_over(self):
        return self.is_revoked


@dataclasses.dataclass
class State:
    families: list = dataclasses.field(default_factory=list)
    codes: dict = dataclasses.field(default_factory=dict)
    # What came since the last reset.
    issued: int = 0
    replayed: int = 0
    reused: int = 0
    revocations: list = dataclasses.field(default_factory=list)
    read_whole: int = 0
    not_read: int = 0


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, authority, context):
        self.authority, self.context = authority, context
        super().__init__(("127.0.0.1", 0), Handler)

    def process_request(self, request, client_address):
        with self.authority.idle:
            self.authority.active += 1
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address):
        try:
            super().process_request_thread(request, client_address)
        finally:
            with self.authority.idle:
                self.authority.active -= 1
                self.authority.idle.notify_all()

    def finish_request(self, request, client_address):
        # Here and not where connections are accepted: a client that is killed in the handshake blocks nobody.
        request.settimeout(20)
        with self.context.wrap_socket(request, server_side=True, do_handshake_on_connect=False) as connection:
            connection.do_handshake()
            self.RequestHandlerClass(connection, client_address, self)

    def handle_error(self, *_):
        pass  # Clients are killed all the time.


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/.well-known/oauth-authorization-server":
            return self.answer(200, self.server.authority.metadata())
        self.answer(404, {})

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return
        form = dict(urllib.parse.parse_qsl(body.decode()))
        self.server.authority.post(self, self.path, form)

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()
        self.close_connection = True

    def is_read(self):
        """Whether the client closes the connection without bytes that it did not read."""
        try:
            return self.connection.recv(1) == b""
        except ssl.SSLError:
            return True
        except OSError:
            return False

    def log_message(self, *_):
        pass


class Authority:
    """The server and its state."""

    def __init__(self, folder, grace=0.0):
        self.grace, self.life, self.state = grace, 3600, State()
        self.lock, self.idle, self.active = threading.RLock(), threading.Condition(), 0
        self.authorities = os.path.join(folder, "ca.pem")
        certificate = make_certificate(folder)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, os.path.join(folder, "server.key"))
        context.num_tickets = 0
        self.server = Server(self, context)
        self.issuer = "https://127.0.0.1:%d" % self.server.server_address[1]
        self.trust = ssl.create_default_context(cafile=self.authorities)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 60}, daemon=True).start()

    def metadata(self):
        return {
            "issuer": self.issuer, "authorization_endpoint": self.issuer + "/authorize",
            "token_endpoint": self.issuer + "/token", "revocation_endpoint": self.issuer + "/revoke",
            "code_challenge_methods_supported": ["S256"],
        }

    # What the tests do with it.

    def settle(self):
        """Waits until every request that a process sent before it died is handled."""
        # Connections are accepted in their order, so all that came before this one are counted afterwards.
        place = self.issuer + "/.well-known/oauth-authorization-server"
        with urllib.request.urlopen(place, context=self.trust, timeout=20) as answer:
            answer.read()
        with self.idle:
            if not self.idle.wait_for(lambda: self.active == 0, 30):
                raise RuntimeError("the server does not come to rest")

    def keep(self):
        with self.lock:
            return copy.deepcopy(self.state)

    def put_back(self, state):
        with self.lock:
            self.state = copy.deepcopy(state)
            self.forget()

    def forget(self):
        """Begins counting anew."""
        with self.lock:
            state = self.state
            state.issued = state.replayed = state.reused = state.read_whole = state.not_read = 0
            state.revocations = []

    def sign_in(self, url):
        """Does what a user does at the page of this URL; returns the address at which the browser ends."""
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
        if query["response_type"] != "code" or query["code_challenge_method"] != "S256":
            raise RuntimeError("the request for a code is invalid: " + url)
        code = secrets.token_urlsafe(24)
        with self.lock:
            self.state.codes[code] = query
        return query["redirect_uri"] + "?" + urllib.parse.urlencode({"code": code, "state": query["state"]})

    def family_of(self, refresh):
        """The family of a refresh token and the token's place in it."""
        with self.lock:
            for family in self.state.families:
                for number, pair in enumerate(family.pairs):
                    if pair.refresh == refresh:
                        return family, number
        return None, -1

    # The endpoints.

    def post(self, handler, path, form):
        if path == "/revoke":
            self.revoke(form.get("token", ""))
            return handler.answer(200, {})
        pair = None
        with self.lock:
            state = self.state
            if form.get("grant_type") == "authorization_code":
                pair = self.redeem(form)
            elif form.get("grant_type") == "refresh_token":
                pair = self.refresh(form.get("refresh_token", ""))
        if pair is None:
            return handler.answer(400, {"error": "invalid_grant"})
        whole = False
        try:
            handler.answer(200, {
                "access_token": pair.access, "refresh_token": pair.refresh, "token_type": "Bearer",
                "expires_in": self.life, "scope": "api"})
            whole = handler.is_read()
        finally:
            with self.lock:
                state.read_whole += whole
                state.not_read += not whole

    def new_pair(self):
        self.state.issued += 1
        return Pair("r-" + secrets.token_urlsafe(48), "a-" + secrets.token_urlsafe(48))

    def redeem(self, form):
        request = self.state.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if not request or request["code_challenge"] != challenge or (
                request["redirect_uri"] != form.get("redirect_uri")):
            return None
        self.state.families.append(Family([self.new_pair()]))
        return self.state.families[-1].last()

    def refresh(self, token):
        family, number = self.family_of(token)
        if family is None or family.is_revoked:
            return None
        pair, now = family.pairs[number], time.monotonic()
        if number == len(family.pairs) - 1:
            pair.spent = now
            family.pairs.append(self.new_pair())
            return family.last()
        if number == len(family.pairs) - 2 and now - pair.spent < self.grace:
            self.state.replayed += 1
            return family.last()
        self.state.reused += 1
        family.is_revoked = True
        return None

    def revoke(self, token):
        """As many servers do: with a refresh token, also a spent one, everything of its family ends."""
        with self.lock:
            self.state.revocations.append(token)
            for family in self.state.families:
                for pair in family.pairs:
                    if pair.refresh == token:
                        family.is_revoked = True
                    if pair.access == token:
                        family.revoked_access.add(token)


def make_certificate(folder):
    """A test authority of its own, and the server's certificate."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, cwd=folder, capture_output=True, timeout=60)

    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *curve, "-keyout", "ca.key", "-out", "ca.pem", "-days", "30", "-subj",
            "/CN=coffer test authority", "-addext", "keyUsage=critical,keyCertSign")
    openssl("req", *curve, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=127.0.0.1")
    with open(os.path.join(folder, "server.ext"), "w") as stream:
        stream.write("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-out", "server.pem", "-days", "30", "-extfile", "server.ext")
    return os.path.join(folder, "server.pem")
