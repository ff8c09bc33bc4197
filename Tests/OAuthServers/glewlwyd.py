"""Glewlwyd out of its unpacked Debian package."""
import gzip
import os
import re
import sqlite3
import urllib.parse

from bed import PASSWORD, SECRET, USER, Client, Failure, inside, run, start, wait_for

SCOPES = "openid g_profile"
TYPES = {"html": "text/html", "css": "text/css", "js": "application/javascript", "json": "application/json",
         "png": "image/png", "ico": "image/x-icon", "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf"}
CONFIGURATION = """
port=%(port)s
bind_address="127.0.0.1"
external_url="https://localhost:%(public)s"
login_url="login.html"
api_prefix="api"
static_files_path="%(webapp)s/"
allow_origin="*"
allow_methods="GET, POST, PUT, DELETE, OPTIONS"
allow_headers="Content-Type, Accept, Authorization, DPoP"
expose_headers="Content-Encoding, Authorization"
log_mode="file"
log_level="DEBUG"
log_file="%(run)s/glewlwyd.log"
cookie_domain="localhost"
cookie_secure=1
cookie_same_site="empty"
session_expiration=86400
session_key="GLEWLWYD2_SESSION_ID"
admin_session_authentication="cookie"
profile_session_authentication="cookie"
login_api_enabled=true
max_post_size=16777216
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="%(modules)s/user"
user_middleware_module_path="%(modules)s/user_middleware"
client_module_path="%(modules)s/client"
user_auth_scheme_module_path="%(modules)s/scheme"
plugin_module_path="%(modules)s/plugin"
use_secure_connection=true
secure_connection_key_file="%(key)s"
secure_connection_pem_file="%(certificate)s"
secure_connection_ca_file="%(ca)s"
hash_algorithm="SHA512"
database={type="sqlite3"; path="%(run)s/glewlwyd.db";};
static_files_mime_types=(%(types)s)
"""


class Glewlwyd:
    """One running server."""

    name = "glewlwyd"

    def __init__(self, bed, folder, port, public, redirects, options):
        self.bed, self.folder, self.port, self.redirects, self.options = bed, folder, port, redirects, options
        self.issuer = f"https://localhost:{public}/api/oidc"
        self.public = public
        self.log = folder / "glewlwyd.log"
        self.process = None

    def start(self):
        schema = gzip.decompress((self.bed.root / "usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz").read_bytes())
        database = sqlite3.connect(self.folder / "glewlwyd.db")
        database.executescript(schema.decode())
        database.close()
        (self.folder / "user_middleware").mkdir()
        types = ",".join('{extension=".%s"; mime_type="%s"; compress=0;}' % each for each in TYPES.items())
        configuration = self.folder / "glewlwyd.conf"
        configuration.write_text(CONFIGURATION % {
            "port": self.port, "public": self.public, "webapp": self.bed.webapp, "run": self.folder,
            "modules": self.bed.root / "usr/lib/glewlwyd", "key": self.bed.key, "certificate": self.bed.certificate,
            "ca": self.bed.ca, "types": types})
        output = self.folder / "output"
        with open(output, "wb") as file:
            self.process = start([self.bed.root / "usr/bin/glewlwyd", f"--config-file={configuration}"], file,
                                 {**os.environ, "LD_LIBRARY_PATH": self.bed.libraries()})
        wait_for(self.port, self.process, output)
        self.fill()

    def fill(self):
        """The plugin, the user and the clients, as the administrator that the schema has."""
        admin = Client(self.bed, f"https://localhost:{self.port}")
        admin.send("POST", "/api/auth/", {"username": "admin", "password": "password"})
        admin.send("POST", "/api/mod/plugin/", {"module": "oidc", "name": "oidc", "display_name": "oidc",
                                                "parameters": self.parameters()})
        scopes = SCOPES.split()
        admin.send("POST", "/api/user/", {"username": USER, "password": PASSWORD, "name": "Ada", "enabled": True,
                                          "email": "ada@example.org", "scope": scopes})
        user = self.person()
        for name, more in self.clients().items():
            admin.send("POST", "/api/client/", {
                "client_id": name, "client_name": name, "enabled": True, "scope": scopes, "confidential": True,
                "redirect_uri": self.redirects, "authorization_type": ["code", "refresh_token", "client_credentials"],
                **more})
            # Consent, once: the page that asks for it is in the way of sign-in without a browser.
            user.send("PUT", f"/api/auth/grant/{name}", {"scope": SCOPES})

    def clients(self):
        public = {"confidential": False, "token_endpoint_auth_method": ["none"],
                  "authorization_type": ["code", "refresh_token", "device_authorization"]}
        return {
            "native": public, "dpop": public, "device": public,
            "server": {"client_secret": SECRET, "token_endpoint_auth_method": ["client_secret_basic"]},
            # Not as a key set, for which Glewlwyd demands a `kid` in every assertion.
            "key": {"pubkey": self.bed.public_key(), "token_endpoint_auth_method": ["private_key_jwt"]},
            "mtls": {"client_secret": SECRET, "token_endpoint_auth_method": ["tls_client_auth"],
                     "tls_client_auth_san_dns": "client.test"}}

    def parameters(self):
        """The plugin's settings. Those of the session's cookie are undocumented, and nothing starts without them."""
        key = run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
        public = run("openssl", "pkey", "-pubout", given=key)
        on = ["refresh-token-rolling", "allow-non-oidc", "auth-type-code-enabled", "auth-type-code-revoke-replayed",
              "auth-type-client-enabled", "auth-type-device-enabled", "auth-type-refresh-enabled", "pkce-allowed",
              "pkce-required", "oauth-par-allowed", "oauth-dpop-allowed", "oauth-as-iss-id",
              "introspection-revocation-allowed", "introspection-revocation-allow-target-client",
              "client-cert-use-endpoint-aliases", "session-management-allowed", "back-channel-logout-allowed",
              "request-parameter-allow", "jwks-show"]
        off = ["auth-type-token-enabled", "auth-type-password-enabled", "pkce-method-plain-allowed",
               "oauth-par-required", "client-cert-self-signed-allowed", "front-channel-logout-allowed",
               "resource-allowed"]
        return {
            **dict.fromkeys(on, True), **dict.fromkeys(off, False), "iss": self.issuer, "jwt-type": "ecdsa",
            "jwt-key-size": "256", "key": key.decode(), "cert": public.decode(), "code-duration": 600,
            "access-token-duration": self.options["life"], "refresh-token-duration": self.options["refreshLife"],
            "refresh-token-one-use": "always", "oauth-par-duration": 90, "oauth-dpop-iat-duration": 60,
            "oauth-par-request_uri-prefix": "urn:ietf:params:oauth:request_uri:", "client-cert-source": "TLS",
            "device-authorization-expiration": 600, "device-authorization-interval": 1,
            "client-pubkey-parameter": "pubkey", "client-jwks-parameter": "jwks",
            "session-cookie-name": "GLEWLWYD2_OIDC_SID", "session-cookie-expiration": 86400}

    def description(self):
        return {"scope": SCOPES, "resource": f"{self.issuer}/userinfo",
                "discovery": f"{self.issuer}/.well-known/openid-configuration",
                "clients": {name: described(name, client) for name, client in self.clients().items()}}

    def person(self):
        """The user, signed in."""
        client = Client(self.bed, f"https://localhost:{self.port}")
        client.send("POST", "/api/auth/", {"username": USER, "password": PASSWORD})
        return client

    def sign_in(self, url):
        """Where the user's browser is sent after signing in on a page."""
        answer = self.person().get(inside(url) + "&g_continue")
        if not answer.location:
            raise Failure(f"No redirect: {answer.status} {answer.body[:300]!r}")
        return answer.location

    def allow_device(self, code):
        answer = self.person().get(f"/api/oidc/device?code={urllib.parse.quote(code)}&g_continue")
        if not re.search("prompt=deviceComplete", answer.location):
            raise Failure(f"The code was not taken: {answer.status} {answer.location}")


def described(name, client):
    """What a test needs to know of a client."""
    method = client["token_endpoint_auth_method"][0]
    secret = {"secret": SECRET} if method == "client_secret_basic" else {}
    return {"id": name, "authentication": method, **secret}
