"""An OAuth server on loopback for `bench`: it renews tokens over HTTPS; each refresh token is good for once.

Usage: oauth_server.py DIRECTORY. Makes ca.pem and a certificate for 127.0.0.1 there with the program openssl.
Then it executes one command per line of standard input, each with one line of answer, `ok VALUE` or
`failed REASON`:

    origin            the address, also of the discovery documents
    life SECONDS      the lifetime of access tokens from now on
    session           a refresh token of a new session, as if somebody had just signed in
    renewals          the number of renewals since the last such command
    refusals          the same of refused requests
    token             the last access token

Its user agrees to every sign-in at once: `authorize` leads back with a code, and a device code is granted.
By hand: `python3 Benchmarks/oauth_server.py "$(mktemp -d)"`, then `origin`.
"""
import http.server
import json
import os
import pathlib
import secrets
import ssl
import subprocess
import sys
import threading
import urllib.parse

# As long as the other tokens of the benchmarks.
TOKEN_LENGTH = 192


def make_certificates(folder):
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)

    for name in ("ca", "server"):
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.key")
    openssl("req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=bench", "-days", "2", "-out", "ca.pem",
            "-addext", "basicConstraints=critical,CA:TRUE")
    (folder / "server.ext").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("req", "-new", "-key", "server.key", "-subj", "/CN=127.0.0.1", "-out", "server.csr")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "2",
            "-days", "2", "-extfile", "server.ext", "-out", "server.pem")


class Sessions:
    """The refresh tokens that are good, and what was asked."""

    def __init__(self):
        self.lock = threading.Lock()
        self.live = set()
        self.codes = set()
        self.life = 3600
        self.renewals = 0
        self.refusals = 0
        self.token = ""

    def begin(self):
        token = secrets.token_urlsafe(32)
        self.live.add(token)
        return token

    def tokens(self):
        number = secrets.token_hex(8)
        self.token = (number * (TOKEN_LENGTH // len(number)))[:TOKEN_LENGTH]
        return {"access_token": self.token, "refresh_token": self.begin(), "token_type": "Bearer",
                "expires_in": self.life, "scope": "api offline_access"}

    def answer(self, form):
        """Returns the status and the JSON of an answer of the token endpoint."""
        with self.lock:
            if form.get("grant_type") == "refresh_token":
                if form.get("refresh_token") in self.live:
                    self.live.remove(form["refresh_token"])
                    self.renewals += 1
                    return 200, self.tokens()
            elif form.get("grant_type") == "authorization_code":
                if form.get("code") in self.codes:
                    self.codes.remove(form["code"])
                    return 200, self.tokens()
            elif form.get("grant_type") == "urn:ietf:params:oauth:grant-type:device_code":
                return 200, self.tokens()
            self.refusals += 1
            return 400, {"error": "invalid_grant"}

    def code(self):
        with self.lock:
            code = secrets.token_urlsafe(16)
            self.codes.add(code)
            return code

    def taken(self, name):
        with self.lock:
            count = getattr(self, name)
            setattr(self, name, 0)
            return count


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # One write for each answer.
    timeout = 60

    def log_message(self, *_):
        pass

    def send(self, status, content, location=None):
        body = json.dumps(content).encode()
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        origin = self.server.origin
        if self.path.startswith("/.well-known/"):
            names = {"authorization_endpoint": "authorize", "token_endpoint": "token",
                     "device_authorization_endpoint": "device", "revocation_endpoint": "revoke",
                     "userinfo_endpoint": "userinfo", "jwks_uri": "jwks"}
            self.send(200, {"issuer": origin, "scopes_supported": ["openid", "offline_access", "api"],
                            "response_types_supported": ["code"], "subject_types_supported": ["public"],
                            "id_token_signing_alg_values_supported": ["ES256"],
                            "code_challenge_methods_supported": ["S256"],
                            "grant_types_supported": ["authorization_code", "refresh_token"],
                            **{key: f"{origin}/{name}" for key, name in names.items()}})
        elif self.path.startswith("/authorize?"):
            asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
            answer = urllib.parse.urlencode({"code": self.server.sessions.code(), "state": asked["state"]})
            self.send(302, {}, f"{asked['redirect_uri']}?{answer}")
        else:
            self.send(404, {})

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        form = dict(urllib.parse.parse_qsl(self.rfile.read(length).decode()))
        if self.path == "/token":
            self.send(*self.server.sessions.answer(form))
        elif self.path == "/device":
            self.send(200, {"device_code": "d", "user_code": "BENCH", "interval": 1, "expires_in": 60,
                            "verification_uri": f"{self.server.origin}/page"})
        else:
            self.send(404 if self.path != "/revoke" else 200, {})


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(folder / "server.pem", folder / "server.key")
        self.sessions = Sessions()
        self.origin = f"https://127.0.0.1:{self.server_port}"

    def finish_request(self, request, client_address):
        # In the thread of the connection: a client that does not shake hands holds up nobody.
        request.settimeout(60)
        with self.context.wrap_socket(request, server_side=True) as connection:
            super().finish_request(connection, client_address)

    def handle_error(self, *_):
        pass


def execute(server, line):
    verb, _, rest = line.strip().partition(" ")
    sessions = server.sessions
    if verb == "origin":
        return server.origin
    if verb == "life":
        sessions.life = int(rest)
        return ""
    if verb == "session":
        with sessions.lock:
            return sessions.begin()
    if verb in ("renewals", "refusals"):
        return sessions.taken(verb)
    if verb == "token":
        return sessions.token
    raise ValueError(verb)


def main():
    folder = pathlib.Path(sys.argv[1])
    make_certificates(folder)
    server = Server(folder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for line in sys.stdin:
        try:
            print("ok", execute(server, line), flush=True)
        except (ValueError, KeyError) as failure:
            print("failed", failure, flush=True)
    os._exit(0)


main()
