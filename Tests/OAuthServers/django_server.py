"""django-oauth-toolkit, beside this program in a Python of its own."""
import json
import pathlib
import re
import shutil

from bed import PASSWORD, SECRET, USER, Client, Failure, inside, start, wait_for

SCOPES = "openid api"
HIDDEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Django:
    """One running server."""

    name = "django"

    def __init__(self, bed, folder, port, public, redirects, options):
        self.bed, self.folder, self.port, self.options = bed, folder, port, options
        self.issuer = f"https://localhost:{public}/o"
        self.log = folder / "requests"
        self.log.touch()
        self.process = None

    def start(self):
        database = self.folder / "django.sqlite3"
        shutil.copyfile(self.bed.database, database)
        settings = {**self.options, "database": str(database), "signingKey": str(self.bed.signing_key),
                    "issuer": self.issuer, "port": self.port, "certificate": str(self.bed.certificate),
                    "key": str(self.bed.key), "log": str(self.log)}
        output = self.folder / "output"
        site = pathlib.Path(__file__).with_name("django_site.py")
        with open(output, "wb") as file:
            self.process = start([self.bed.python, site, "serve", json.dumps(settings)], file)
        wait_for(self.port, self.process, output)

    def description(self):
        # The metadata does not name these three.
        missing = {"revocation_endpoint": f"{self.issuer}/revoke_token/",
                   "introspection_endpoint": f"{self.issuer}/introspect/",
                   "device_authorization_endpoint": f"{self.issuer}/device-authorization/"}
        return {"scope": SCOPES, "discovery": f"{self.issuer}/.well-known/openid-configuration", "missing": missing,
                "resource": self.issuer.removesuffix("/o") + "/api/",
                "clients": {"native": {"id": "native", "authentication": "none"},
                            "device": {"id": "device", "authentication": "none"},
                            "server": {"id": "server", "authentication": "client_secret_basic", "secret": SECRET}}}

    def person(self):
        """The user, signed in."""
        client = Client(self.bed, f"https://localhost:{self.port}")
        self.submit(client, "/login/", username=USER, password=PASSWORD)
        return client

    def submit(self, client, url, **form):
        """Sends a page's form; gives where it leads."""
        hidden = HIDDEN.search(client.get(url).body.decode())
        answer = client.post(url, {"csrfmiddlewaretoken": hidden[1] if hidden else "", **form})
        if not answer.location:
            raise Failure(f"{url}: {answer.status} {answer.body[:300]!r}")
        return answer.location

    def sign_in(self, url):
        """Where the user's browser is sent after signing in on a page."""
        answer = self.person().get(inside(url))
        if not answer.location:
            raise Failure(f"No redirect: {answer.status} {answer.body[:300]!r}")
        return answer.location

    def allow_device(self, code):
        person = self.person()
        self.submit(person, self.submit(person, "/o/device/", user_code=code), action="accept")
