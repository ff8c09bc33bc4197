"""An OAuth server over HTTPS on loopback that keeps a list of every secret that it gave or was given.

Usage: issuing_server.py DIRECTORY

Makes ca.pem, client.pem, client.key and assertion.key in DIRECTORY, prints its port, and answers each line on
standard input: `secrets` with them, {NAME: Base64}; `refuse`, after which it refuses the last access token.
Ends with standard input.
"""
import base64
import datetime
import hashlib
import http.server
import ipaddress
import json
import pathlib
import secrets
import ssl
import sys
import threading
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

LIFE = 3600


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value):
    return encoded(value.to_bytes((value.bit_length() + 7) // 8))


class Known:
    """The secrets so far."""

    def __init__(self):
        self.lock, self.found = threading.Lock(), {}

    def add(self, name, value):
        with self.lock:
            data = value.encode() if isinstance(value, str) else value
            if data and data not in self.found.values():
                count = sum(1 for other in self.found if other.startswith(name))
                self.found[f"{name} {count + 1}"] = data

    def make(self, name, count=40):
        value = secrets.token_urlsafe(count)
        self.add(name, value)
        return value

    def add_token(self, name, text):
        """A JSON Web Token's signature, without which nobody accepts it; the rest is no secret."""
        self.add(name, text.rpartition(".")[2])

    def add_key(self, name, key):
        """The private numbers of a key, whose forms are in its file, too."""
        private = key.private_numbers()
        values = [private.private_value] if hasattr(private, "private_value") else [
            private.d, private.p, private.q, private.dmp1, private.dmq1, private.iqmp]
        for value in values:
            self.add(name, value.to_bytes((value.bit_length() + 7) // 8))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Handler)
        self.known, self.codes, self.refused = Known(), {}, set()
        self.port = self.server_address[1]
        self.issuer = f"https://127.0.0.1:{self.port}"
        self.signing = rsa.generate_private_key(65537, 2048)
        self.make_files(pathlib.Path(folder))
        self.last = None
        self.nonce = secrets.token_urlsafe(12)

    def make_files(self, folder):
        authority = ec.generate_private_key(ec.SECP256R1())
        keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("server", "client")}
        keys["assertion"] = rsa.generate_private_key(65537, 2048)
        own = x509.BasicConstraints(True, None)
        self.certificate(folder / "ca.pem", "authority", authority, authority, own)
        address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        self.certificate(folder / "server.pem", "server", keys["server"], authority, address)
        self.certificate(folder / "client.pem", "client", keys["client"], authority, x509.ExtendedKeyUsage(
            [x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]))
        for name, key in keys.items():
            (folder / f"{name}.key").write_bytes(key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
            if name != "server":
                self.known.add_key(f"{name} key", key)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.pem", folder / "server.key")
        context.load_verify_locations(folder / "ca.pem")
        context.verify_mode = ssl.CERT_OPTIONAL
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    @staticmethod
    def certificate(path, name, key, authority, extension):
        now = datetime.datetime.now(datetime.timezone.utc)

        def called(text):
            return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])
        made = x509.CertificateBuilder(
            called("authority"), called(name), key.public_key(), x509.random_serial_number(),
            now - datetime.timedelta(hours=1), now + datetime.timedelta(days=1))
        made = made.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        path.write_bytes(made.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))

    def id_token(self, access, nonce, client):
        now = int(datetime.datetime.now().timestamp())
        claims = {"iss": self.issuer, "aud": client, "sub": "ada", "iat": now,
                  "exp": now + LIFE, "at_hash": encoded(hashlib.sha256(access.encode()).digest()[:16])}
        if nonce:
            claims["nonce"] = nonce
        parts = [encoded(json.dumps(part).encode()) for part in ({"alg": "RS256", "kid": "k"}, claims)]
        text = ".".join(parts)
        text += "." + encoded(self.signing.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()))
        self.known.add_token("id token", text)
        return text

    def tokens(self, client, nonce=None, bound=False):
        access = self.known.make("access token")
        self.last = access
        # Profiles of this name get tokens that are due at once.
        life = 5 if client.startswith("short") else LIFE
        return {"access_token": access, "refresh_token": self.known.make("refresh token"), "expires_in": life,
                "token_type": "DPoP" if bound else "Bearer", "scope": "openid api",
                "id_token": self.id_token(access, nonce, client)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *_):
        pass

    def answer(self, status, document, **fields):
        body = json.dumps(document).encode()
        self.send_response(status)
        fields |= {"Content-Type": "application/json", "Content-Length": str(len(body)),
                   "Connection": "close"}
        for name, value in fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def note_fields(self):
        known = self.server.known
        scheme, _, value = (self.headers["Authorization"] or "").partition(" ")
        if scheme == "Basic":
            known.add("client secret", base64.b64decode(value).partition(b":")[2])
        if self.headers["DPoP"]:
            known.add_token("DPoP proof", self.headers["DPoP"])

    def do_GET(self):
        self.note_fields()
        url = urllib.parse.urlsplit(self.path)
        server = self.server
        if url.path == "/keys":
            public = server.signing.public_key().public_numbers()
            return self.answer(200, {"keys": [{
                "kty": "RSA", "kid": "k", "alg": "RS256", "use": "sig", "n": number(public.n),
                "e": number(public.e)}]})
        if url.path == "/authorize":
            query = dict(urllib.parse.parse_qsl(url.query))
            code = server.known.make("code")
            server.codes[code] = query
            answer = urllib.parse.urlencode({"code": code, "state": query["state"], "iss": server.issuer})
            return self.answer(302, {}, Location=query["redirect_uri"] + "?" + answer)
        if url.path == "/userinfo":
            token = self.headers["Authorization"].partition(" ")[2]
            if token != server.last or token in server.refused:
                return self.answer(401, {}, WWW_Authenticate='Bearer error="invalid_token"')
            return self.answer(200, {"sub": "ada", "name": "Ada"})
        return self.answer(404, {})

    def do_POST(self):
        self.note_fields()
        server, known = self.server, self.server.known
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = dict(urllib.parse.parse_qsl(text))
        for name in ("client_secret", "code_verifier", "token"):
            if name in form:
                known.add(name.replace("_", " "), form[name])
        if "client_assertion" in form:
            known.add_token("assertion", form["client_assertion"])
        if self.path == "/device":
            code = known.make("device code")
            return self.answer(200, {"device_code": code, "user_code": "ABCD", "expires_in": 60,
                                     "interval": 1, "verification_uri": server.issuer + "/page"})
        if self.path != "/token":
            return self.answer(200, {})
        bound = self.headers["DPoP"] is not None
        if bound:
            payload = self.headers["DPoP"].split(".")[1]
            claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
            if claims.get("nonce") != server.nonce:
                return self.answer(400, {"error": "use_dpop_nonce"}, DPoP_Nonce=server.nonce)
        query = server.codes.pop(form.get("code"), {})
        if query:
            challenge = encoded(hashlib.sha256(form["code_verifier"].encode()).digest())
            if challenge != query["code_challenge"]:
                return self.answer(400, {"error": "invalid_grant"})
        client = form.get("client_id") or query.get("client_id") or self.basic_client()
        return self.answer(200, server.tokens(client, query.get("nonce"), bound))

    def basic_client(self):
        value = (self.headers["Authorization"] or " ").partition(" ")[2]
        return base64.b64decode(value).partition(b":")[0].decode() or "key"


def main():
    server = Server(sys.argv[1])
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.port, flush=True)
    for line in sys.stdin:
        words = line.split()
        if words == ["secrets"]:
            with server.known.lock:
                answer = {name: base64.b64encode(data).decode() for name, data in server.known.found.items()}
        else:
            server.refused.add(server.last)
            answer = True
        print(json.dumps(answer), flush=True)


main()
