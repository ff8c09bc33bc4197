"""Takes the servers through what the tests use, and says for each step whether it went as it should."""
import base64
import hashlib
import http.client
import http.server
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

from bed import Client, Failure, encoded, run
from browser import Browser
from servers import Running

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


def signed(bed, header, claims):
    """A JWT with ES256, signed by the client's key."""
    text = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "ES256", **header}, claims))
    der = run("openssl", "dgst", "-sha256", "-sign", bed.tls / "client.key", "-binary", given=text.encode())
    # SEQUENCE { INTEGER r, INTEGER s }, all shorter than 128 bytes
    middle = 4 + der[3]
    halves = [int.from_bytes(half, "big").to_bytes(32, "big") for half in (der[4:middle], der[middle + 2:])]
    return text + "." + encoded(b"".join(halves))


class Flow:
    """What a client does, at one running server."""

    def __init__(self, bed, running):
        self.bed, self.running, self.facts = bed, running, running.description()
        self.at, self.client = self.facts["endpoints"], Client(bed, self.facts["issuer"], timeout=3)
        self.token_endpoint = self.at["token_endpoint"]

    def page(self, name="native", **more):
        """The page on which to sign in, and the code's verifier."""
        verifier = secrets.token_urlsafe(32)
        query = {"response_type": "code", "client_id": name, "redirect_uri": self.facts["redirects"][0],
                 "scope": self.facts["scope"], "state": "s1", "nonce": "n1", "code_challenge_method": "S256",
                 "code_challenge": encoded(hashlib.sha256(verifier.encode()).digest()), **more}
        return self.at["authorization_endpoint"] + "?" + urllib.parse.urlencode(query), verifier

    def exchange(self, location, verifier, name="native", basic=None, url=None, client=None, extra=None, **headers):
        redirected = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(location).query))
        form = {"grant_type": "authorization_code", "code": redirected.get("code", location), "client_id": name,
                "redirect_uri": self.facts["redirects"][0], "code_verifier": verifier, **(extra or {})}
        if basic:
            del form["client_id"]
        return (client or self.client).post(url or self.token_endpoint, form, basic, **headers)

    def code(self, name="native", **more):
        page, verifier = self.page(name)
        return self.exchange(self.running.command({"do": "sign-in", "url": page})["location"], verifier, name, **more)

    def refresh(self, token, name="native", **headers):
        form = {"grant_type": "refresh_token", "refresh_token": token, "client_id": name}
        return self.client.post(self.token_endpoint, form, **headers)

    def token_log(self):
        path = urllib.parse.urlsplit(self.token_endpoint).path
        return [each for each in self.running.command({"do": "log"})["requests"] if each["path"] == path]


def basics(flow):
    """Code, replayed code, resource, rotation, reuse, device."""
    page, verifier = flow.page()
    location = flow.running.command({"do": "sign-in", "url": page})["location"]
    answer = flow.exchange(location, verifier)
    first = answer.json()
    yield "code", answer.status, 200
    used = flow.client.get(flow.facts["resource"], Authorization=f"Bearer {first['access_token']}")
    yield "access token used", used.status, 200
    answer = flow.refresh(first["refresh_token"])
    second = answer.json()
    yield "refresh", answer.status, 200
    yield "rotated", second["refresh_token"] != first["refresh_token"], True
    yield "used refresh token again", flow.refresh(first["refresh_token"]).status, 400
    yield "its successor", flow.refresh(second["refresh_token"]).status, 400
    answer = flow.exchange(location, verifier)
    yield "code again", answer.status in (400, 403), True
    begun = flow.client.post(flow.at["device_authorization_endpoint"],
                             {"client_id": "device", "scope": flow.facts["scope"]}).json()
    poll = {"grant_type": DEVICE, "device_code": begun["device_code"], "client_id": "device"}
    yield "device pending", flow.client.post(flow.token_endpoint, poll).json().get("error"), "authorization_pending"
    flow.running.command({"do": "allow-device", "code": begun["user_code"]})
    time.sleep(begun.get("interval", 1) + 1)
    yield "device allowed", flow.client.post(flow.token_endpoint, poll).status, 200


def lost(flow, grace):
    """An answer that is lost, the same token again, and the log of both."""
    answer = flow.code()
    token = answer.json()["refresh_token"]
    flow.running.command({"do": "fault", "kind": "swallow", "path": urllib.parse.urlsplit(flow.token_endpoint).path})
    begun = len(flow.token_log())
    try:
        yield "answer lost", flow.refresh(token).status, "nothing"
    except TimeoutError:
        yield "answer lost", "nothing", "nothing"
    again = flow.refresh(token)
    yield "the same token again", again.status, 200 if grace else 400
    if grace:
        yield "its successor", flow.refresh(again.json()["refresh_token"]).status, 200
    log = flow.token_log()[begun:]
    yield "the log", [(each["status"], each["fault"]) for each in log[:2]], [(200, "swallow"), (again.status, None)]
    yield "the log's hashes", log[0]["refreshToken"] == log[1]["refreshToken"] is not None, True
    for kind in ("cut", "reset", "refuse"):
        token = flow.code().json()["refresh_token"]
        flow.running.command({"do": "fault", "kind": kind, "bytes": 40,
                              "path": urllib.parse.urlsplit(flow.token_endpoint).path})
        try:
            yield kind, flow.refresh(token).json().get("refresh_token"), None
        except (OSError, http.client.HTTPException) as error:
            yield f"{kind}: {type(error).__name__}", None, None
        if kind == "refuse":
            yield "refused, then again", flow.refresh(token).status, 200


def confidential(flow):
    """Introspection and revocation with a secret."""
    client = ("server", flow.facts["clients"]["server"]["secret"])
    answer = flow.code("server", basic=client)
    yield "code, with a secret", answer.status, 200
    token = {"token": answer.json()["refresh_token"], "token_type_hint": "refresh_token"}
    yield "revoked", flow.client.post(flow.at["revocation_endpoint"], token, client).status, 200
    answer = flow.client.post(flow.at["introspection_endpoint"], token, client)
    yield "introspected", answer.json().get("active"), False


def keys(flow):
    """private_key_jwt, mutual TLS, DPoP, PAR: only Glewlwyd has them."""
    now = int(time.time())
    claims = {"iss": "key", "sub": "key", "aud": flow.token_endpoint, "iat": now, "exp": now + 60,
              "jti": secrets.token_hex(16)}
    proof = {"client_assertion_type": ASSERTION, "client_assertion": signed(flow.bed, {"kid": "k1"}, claims)}
    yield "private_key_jwt", flow.code("key", extra=proof).status, 200
    known, url = Client(flow.bed, flow.facts["issuer"], "client"), flow.facts["mtlsEndpoints"]["token_endpoint"]
    answer = flow.code("mtls", client=known, url=url)
    yield "mutual TLS", answer.status, 200
    payload = answer.json().get("access_token", ".").split(".")[1]
    yield "bound to the certificate", "x5t#S256" in str(base64.urlsafe_b64decode(payload + "==")), True
    yield "mutual TLS without a certificate", flow.code("mtls", url=url).status >= 400, True

    def dpop():
        key = {name: value for name, value in flow.bed.public_jwk().items() if name in ("kty", "crv", "x", "y")}
        return signed(flow.bed, {"typ": "dpop+jwt", "jwk": key}, {
            "jti": secrets.token_hex(16), "htm": "POST", "htu": flow.token_endpoint, "iat": int(time.time())})
    answer = flow.code("dpop", DPoP=dpop())
    yield "DPoP", answer.json().get("token_type"), "DPoP"
    token = answer.json()["refresh_token"]
    yield "DPoP, refresh without proof", flow.refresh(token, "dpop").status >= 400, True
    yield "DPoP, refresh", flow.refresh(token, "dpop", DPoP=dpop()).status, 200
    page, verifier = flow.page()
    pushed = flow.client.post(flow.at["pushed_authorization_request_endpoint"],
                              dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page).query)))
    yield "pushed request", pushed.status, 201
    page = flow.at["authorization_endpoint"] + "?" + urllib.parse.urlencode(
        {"client_id": "native", "request_uri": pushed.json()["request_uri"]})
    location = flow.running.command({"do": "sign-in", "url": page})["location"]
    yield "code of a pushed request", flow.exchange(location, verifier).status, 200


def browser(flow):
    """The sign-in page in a browser, to a listener."""
    came = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            came.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    port = urllib.parse.urlsplit(flow.facts["redirects"][0]).port
    listener = http.server.ThreadingHTTPServer(("127.0.0.1", port), Listener)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    page, verifier = flow.page()
    with Browser(flow.bed) as window:
        seconds = window.sign_in(page)["seconds"]
    listener.shutdown()
    listener.server_close()
    yield f"signed in, in a browser ({seconds} s)", flow.exchange(came[0], verifier).status, 200


def nothing_left(bed):
    """A server whose starter is killed goes, too."""
    with tempfile.TemporaryFile() as output:
        starter = subprocess.Popen([sys.executable, os.path.join(os.path.dirname(__file__), "servers.py"), "start",
                                    bed.folder, "django"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output)
        facts = json.loads(starter.stdout.readline())
        starter.kill()
        starter.communicate()
    time.sleep(0.2)
    try:
        Client(bed, facts["issuer"], timeout=3).get("")
        yield "gone with its starter", "it answers", "nothing"
    except OSError:
        yield "gone with its starter", "nothing", "nothing"


def judged(name, steps):
    """Prints steps; gives how many failed."""
    failed = 0
    for step, seen, wanted in steps:
        failed += seen != wanted
        print(f"{name}: {step}: {'ok' if seen == wanted else f'FAILED: {seen}, not {wanted}'}", flush=True)
    return failed


def check(bed, names):
    """Runs everything; gives whether all went well."""
    begun, failed = time.monotonic(), 0
    for name in names or ["glewlwyd", "django"]:
        try:
            with Running(bed, name, life=600) as running:
                flow = Flow(bed, running)
                for part in [basics, confidential, *([keys] if name == "glewlwyd" else []),
                             *([browser] if bed.browser() else [])]:
                    failed += judged(name, part(flow))
            for grace in (0, 30) if name == "django" else (0,):
                with Running(bed, name, grace=grace, faults=True) as running:
                    failed += judged(f"{name}, grace {grace}", lost(Flow(bed, running), grace))
        except (Failure, OSError, KeyError, IndexError) as problem:
            failed += 1
            print(f"{name}: FAILED: {type(problem).__name__}: {problem}")
    failed += judged("both", nothing_left(bed))
    print(f"{failed} failed, {time.monotonic() - begun:.1f} s" + ("" if bed.browser() else "; no browser was there"))
    return failed == 0
