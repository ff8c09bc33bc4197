"""The servers of the article: one that signs in and renews, and those that want its tokens."""
import base64
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

from world import holders

ISSUER = "https://login.example.org"
ACCOUNT = "ada@example.org"
METADATA = {
    "issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/authorize", "token_endpoint": f"{ISSUER}/token",
    "revocation_endpoint": f"{ISSUER}/revoke", "response_types_supported": ["code"],
    "grant_types_supported": ["authorization_code", "refresh_token"],
    "code_challenge_methods_supported": ["S256"], "token_endpoint_auth_methods_supported": ["none"],
    "authorization_response_iss_parameter_supported": True,
}


class Authority:
    """Codes and tokens. A refresh token is good for one use; a second use ends the session."""

    def __init__(self):
        self.lock = threading.Lock()
        self.life, self.refresh, self.ended = 3600, None, False
        self.codes, self.alive, self.issued = {}, {}, []
        self.renewals = self.reuses = 0

    def authorize(self, query):
        """The address to which the browser goes back."""
        asked = [query[name] for name in ("client_id", "code_challenge_method", "scope")]
        if asked != ["desktop", "S256", "api"]:
            raise ValueError("not the request of the article")
        code = secrets.token_urlsafe(16)
        with self.lock:
            self.codes[code] = query["code_challenge"], query["redirect_uri"]
        answer = {"code": code, "state": query["state"], "iss": ISSUER}
        return query["redirect_uri"] + "?" + urllib.parse.urlencode(answer)

    def exchange(self, form):
        """The status and the JSON of an answer to a token request."""
        with self.lock:
            if form["grant_type"] == "authorization_code":
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                good = self.codes.pop(form["code"], None) == (challenge, form["redirect_uri"])
            else:
                good = not self.ended and form["refresh_token"] == self.refresh
                self.renewals += good
                self.reuses += not good
                self.ended = self.ended or not good
            if not good:
                return 400, {"error": "invalid_grant"}
            # 2 900 characters: the longest that the article promises for msmtp.
            access, self.refresh = secrets.token_urlsafe(2175), secrets.token_urlsafe(48)
            self.alive[access] = time.monotonic() + self.life
            self.issued += [access, self.refresh]
            return 200, {"access_token": access, "refresh_token": self.refresh, "token_type": "Bearer",
                         "expires_in": self.life, "scope": "api"}

    def accepts(self, token):
        with self.lock:
            return self.alive.get(token, 0) > time.monotonic()

    def revoke_access(self):
        """Access tokens end before their time; the session goes on."""
        with self.lock:
            self.alive.clear()


class World:
    """What the servers share: the authority, a log of requests, and what they noticed."""

    def __init__(self, folder):
        self.folder, self.authority = folder, Authority()
        self.served, self.refused, self.mails, self.leaks = [], [], [], []

    def context(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.pem", self.folder / "server.key")
        return context

    def admits(self, place, token):
        """Whether a token is good. The client waits for the answer meanwhile: does it show the token?"""
        if token:
            self.leaks += [f"{place}: {holder}" for holder in holders(token.encode())]
        good = self.authority.accepts(token)
        (self.served if good else self.refused).append(place)
        return good

    def start(self):
        """Takes connections at the ports of the article."""
        for port in (443, 6443):
            server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Web)
            self.run(server)
        self.run(Mail(("127.0.0.1", 465), MailSession))

    def run(self, server):
        server.world, server.tls, server.daemon_threads = self, self.context(), True
        server.handle_error = lambda *_: None  # a client that goes away is not this program's fault
        threading.Thread(target=server.serve_forever, daemon=True).start()


class Web(http.server.BaseHTTPRequestHandler):
    """The HTTPS servers: sign-in, git, Kubernetes and an API, by the name of the host."""
    protocol_version = "HTTP/1.1"
    timeout = 20

    def setup(self):
        self.request.settimeout(self.timeout)
        self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.url = urllib.parse.urlsplit(self.path)
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        host = (self.headers["Host"] or "").split(":")[0]
        answers = {"login.example.org": self.login, "git.example.org": self.git,
                   "kube.example.org": self.kubernetes, "api.example.org": self.api}
        answers.get(host, self.nothing)()

    do_POST = do_GET

    def answer(self, status, body=b"", **headers):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def nothing(self):
        self.answer(404, {})

    def login(self):
        world = self.server.world
        if self.url.path in ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"):
            self.answer(200, METADATA)
        elif self.url.path == "/authorize":
            query = dict(urllib.parse.parse_qsl(self.url.query))
            self.answer(302, Location=world.authority.authorize(query))
        elif self.url.path == "/token":
            form = dict(urllib.parse.parse_qsl(self.body.decode()))
            self.answer(*world.authority.exchange(form))
        elif self.url.path == "/revoke":
            self.answer(200, {})
        else:
            self.nothing()

    def bearer(self, place):
        kind, _, token = self.headers.get("Authorization", "").partition(" ")
        if self.server.world.admits(place, token if kind == "Bearer" else ""):
            return True
        self.answer(401, {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 401,
                          "reason": "Unauthorized"}, WWW_Authenticate="Bearer")
        return False

    def api(self):
        if self.bearer("api"):
            self.answer(200, {"name": "ada"})

    def kubernetes(self):
        group = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [
            {"name": "namespaces", "singularName": "namespace", "namespaced": False, "kind": "Namespace",
             "verbs": ["get", "list"], "shortNames": ["ns"]}]}
        item = {"metadata": {"name": "orchard", "creationTimestamp": "2026-01-01T00:00:00Z"},
                "kind": "Namespace", "apiVersion": "v1", "status": {"phase": "Active"}}
        documents = {
            "/api": {"kind": "APIVersions", "versions": ["v1"]}, "/api/v1": group,
            "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": []},
            "/api/v1/namespaces": {"kind": "NamespaceList", "apiVersion": "v1", "metadata": {},
                                   "items": [item]},
        }
        if not self.bearer("kube"):
            return
        document = documents.get(self.url.path)
        self.answer(200 if document else 404, document or {})

    def git(self):
        """git http-backend behind a password, which is the token."""
        kind, _, text = self.headers.get("Authorization", "").partition(" ")
        user, _, token = base64.b64decode(text).decode().partition(":") if kind == "Basic" else ("", "", "")
        if not token:
            self.answer(401, WWW_Authenticate='Basic realm="git"')
            return
        if not self.server.world.admits("git", token) or user != "oauth2":
            self.answer(401, WWW_Authenticate='Basic realm="git"')
            return
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.server.world.folder), "REMOTE_USER": user,
            "GIT_PROJECT_ROOT": str(self.server.world.folder / "git"), "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_CONFIG_NOSYSTEM": "1", "REQUEST_METHOD": self.command, "PATH_INFO": self.url.path,
            "QUERY_STRING": self.url.query, "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(self.body)), "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "REMOTE_ADDR": "127.0.0.1",
        }
        done = subprocess.run(["git", "http-backend"], input=self.body, env=environment, capture_output=True,
                              timeout=20)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        status = int(fields.pop("Status", "200").split()[0])
        fields.pop("Content-Length", None)
        headers = {name.replace("-", "_"): value for name, value in fields.items()}
        self.answer(status, content, **headers)


class Mail(socketserver.ThreadingTCPServer):
    allow_reuse_address = True


class MailSession(socketserver.StreamRequestHandler):
    """Takes messages over TLS from whom OAUTHBEARER (RFC 7628) or XOAUTH2 admits."""
    timeout = 20

    def setup(self):
        self.request.settimeout(self.timeout)
        self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def line(self):
        return self.rfile.readline(65536).decode().rstrip("\r\n")

    def say(self, *lines):
        self.wfile.write("".join(f"{line}\r\n" for line in lines).encode())

    def handle(self):
        self.say("220 smtp.example.org ESMTP")
        admitted = False
        while line := self.line():
            verb = line.split(" ")[0].upper()
            if verb == "EHLO":
                self.say("250-smtp.example.org", "250 AUTH OAUTHBEARER XOAUTH2")
            elif verb == "AUTH":
                admitted = self.authenticate(line.split(" "))
            elif verb == "QUIT":
                self.say("221 bye")
                return
            elif not admitted:
                self.say("530 authentication required")
            elif verb == "DATA":
                self.say("354 go on")
                self.server.world.mails.append("\n".join(iter(self.line, ".")))
                self.say("250 taken")
            else:
                self.say("250 ok")

    def authenticate(self, words):
        """Whether the client's first answer has the account and a good token."""
        if len(words) == 2:
            self.say("334 ")
            words.append(self.line())
        fields = base64.b64decode(words[2]).decode().split("\x01")
        users = {"OAUTHBEARER": f"n,a={ACCOUNT},", "XOAUTH2": f"user={ACCOUNT}"}
        tokens = [field.removeprefix("auth=Bearer ") for field in fields if field.startswith("auth=")]
        token = tokens[0] if tokens else ""
        place = f"smtp {words[1]}"
        if self.server.world.admits(place, token) and fields[0] == users[words[1]]:
            self.say("235 welcome")
            return True
        self.say("334 " + base64.b64encode(b'{"status":"invalid_token"}').decode())
        self.line()
        self.say("535 not admitted")
        return False
