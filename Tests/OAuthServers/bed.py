"""What the parts share: the folder's layout, child processes that end with their parent, an HTTPS client."""
import base64
import ctypes
import hashlib
import http.client
import json
import pathlib
import signal
import socket
import ssl
import subprocess
import time
import urllib.parse

USER, PASSWORD = "ada", "correct horse"
SECRET = "very-secret"


class Failure(Exception):
    """What went wrong, for people."""


class Bed:
    """The folder that `prepare` fills."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.packages = self.folder / "packages"
        self.root = self.folder / "root"
        self.webapp = self.folder / "webapp"
        self.python = self.folder / "venv" / "bin" / "python"
        self.database = self.folder / "django.sqlite3"
        self.signing_key = self.folder / "django.key"
        self.tls = self.folder / "tls"
        self.ca = self.tls / "ca.pem"
        self.certificate, self.key = self.tls / "server.pem", self.tls / "server.key"
        self.runs = self.folder / "runs"
        # Made last: everything is there.
        self.prepared = self.folder / "prepared.json"

    def libraries(self):
        """The value of LD_LIBRARY_PATH for the unpacked programs."""
        folders = sorted(self.root.glob("usr/lib/*-linux-gnu")) + sorted(self.root.glob("lib/*-linux-gnu"))
        folders += [folder / "pulseaudio" for folder in folders if (folder / "pulseaudio").is_dir()]
        return ":".join(map(str, folders))

    def browser(self):
        """The browser's program: unpacked or installed; None if there is none."""
        places = [self.root / "usr/lib/chromium/chromium-headless-shell",
                  pathlib.Path("/usr/lib/chromium/chromium-headless-shell"),
                  pathlib.Path("/usr/lib/chromium/chromium")]
        return next((place for place in places if place.is_file()), None)

    def public_key(self):
        """The public half of tls/client.key, which also signs the assertions of the client `key`."""
        return run("openssl", "pkey", "-in", self.tls / "client.key", "-pubout").decode()

    def public_jwk(self):
        """The same as a JSON Web Key."""
        point = run("openssl", "pkey", "-in", self.tls / "client.key", "-pubout", "-outform", "DER")[-64:]
        x, y = encoded(point[:32]), encoded(point[32:])
        return {"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "k1", "x": x, "y": y}

    def context(self, certificate=None):
        """What a client trusts: the test authority only."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.ca)
        if certificate:
            context.load_cert_chain(self.tls / f"{certificate}.pem", self.tls / f"{certificate}.key")
        return context


def encoded(data):
    """Base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def run(*words, folder=None, given=None, limit=600):
    """Runs a program and gives what it prints."""
    words = [str(word) for word in words]
    ended = subprocess.run(words, cwd=folder, input=given, stdin=None if given else subprocess.DEVNULL,
                           capture_output=True, timeout=limit)
    if ended.returncode != 0:
        raise Failure(f"{words[0]} {words[1]} ended with {ended.returncode}: {ended.stderr.decode()[-600:]}")
    return ended.stdout


def end_with_parent():
    """For preexec_fn: the kernel kills the child when this program ends, however that happens."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(words, log, environment=None, **more):
    """Starts a program that does not outlive this one."""
    return subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log,
                            stderr=subprocess.STDOUT, env=environment, preexec_fn=end_with_parent, **more)


def free_ports(count):
    """Ports of 127.0.0.1 that nobody has now."""
    taken = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in taken]
    for each in taken:
        each.close()
    return ports


def wait_for(port, process, log, limit=60):
    """Waits until a server takes connections."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            if process.poll() is not None:
                break
            time.sleep(0.02)
    raise Failure("The server did not start: " + pathlib.Path(log).read_text(errors="replace")[-2000:])


def inside(url):
    """A URL without its origin: the server itself is asked, not the proxy in front."""
    place = urllib.parse.urlsplit(url)
    return place.path + ("?" + place.query if place.query else "")


class Answer:
    """What came back."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        """The body's members; an empty object if it is something else."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def location(self):
        return self.headers.get("Location", "")


class Client:
    """An HTTPS client with cookies that follows no redirect."""

    def __init__(self, bed, base, certificate=None, timeout=30):
        self.base, self.timeout = base, timeout
        self.context = bed.context(certificate)
        self.cookies = {}

    def get(self, url, **headers):
        return self.request("GET", url, None, headers)

    def post(self, url, form, basic=None, **headers):
        """Sends a form, by choice with an identifier and a secret."""
        if basic:
            headers["Authorization"] = "Basic " + base64.b64encode(":".join(basic).encode()).decode()
        headers["Content-Type"] = "application/x-www-form-urlencoded"
        return self.request("POST", url, urllib.parse.urlencode(form).encode(), headers)

    def send(self, method, url, value):
        """Sends JSON and refuses other answers than 200."""
        answer = self.request(method, url, json.dumps(value).encode(), {"Content-Type": "application/json"})
        if answer.status != 200:
            raise Failure(f"{method} {url}: {answer.status} {answer.body[:400]!r}")
        return answer

    def request(self, method, url, body, headers):
        place = urllib.parse.urlsplit(urllib.parse.urljoin(self.base, url))
        headers = {"Referer": self.base, "Connection": "close", **headers}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        connection = http.client.HTTPSConnection(place.hostname, place.port, timeout=self.timeout, context=self.context)
        try:
            connection.request(method, inside(place.geturl()), body, headers)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        for cookie in answer.headers.get_all("Set-Cookie") or []:
            name, _, value = cookie.split(";")[0].partition("=")
            self.cookies[name] = value
        return Answer(answer.status, answer.headers, content)


def entry(method, target, body, status, answer, fault=None, came=None):
    """A line of the log of requests. Tokens are hashed: equal ones can be told, none can be used.

    `at` is the time of the answer, `came` that of the connection.
    """
    form = dict(urllib.parse.parse_qsl(body.decode("latin-1")))
    try:
        members = json.loads(answer)
        error = members.get("error") if isinstance(members, dict) else None
    except ValueError:
        error = None
    spent = form.get("refresh_token")
    now = time.time()
    return {"at": now, "came": came or now, "method": method, "path": target.partition("?")[0],
            "grant": form.get("grant_type"), "client": form.get("client_id"), "status": status, "error": error,
            "fault": fault,
            "refreshToken": hashlib.sha256(spent.encode()).hexdigest() if spent else None}


def append(log, lock, record):
    """Adds a line to the log of requests."""
    with lock, open(log, "a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
