"""What the scenarios of pkcs11.py share: a user with a vault, an authority, and nginx on loopback."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time

DEADLINE = 60
PASSCODE = b"correct horse\n"
CONFIGURATION = """
daemon off;
worker_processes 1;
pid {path}/nginx.pid;
error_log {path}/nginx.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {path}/body;
    proxy_temp_path {path}/proxy;
    fastcgi_temp_path {path}/fastcgi;
    uwsgi_temp_path {path}/uwsgi;
    scgi_temp_path {path}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate {path}/server.pem;
        ssl_certificate_key {path}/server.key;
        ssl_client_certificate {path}/authorities.pem;
        ssl_verify_client on;
        ssl_verify_depth 4;
        location / {{ return 200 "$ssl_client_verify $ssl_client_s_dn\\n"; }}
    }}
}}
"""


class Failed(Exception):
    pass


def check(condition, text):
    if not condition:
        raise Failed(text)


class World:
    """A user's home with a vault; beside it the directory of a server. p11-kit reads no settings of root's home,
    so with root the user is another one."""

    def __init__(self, coffer, passcode=True):
        self.coffer = coffer
        self.path = tempfile.mkdtemp(prefix="coffer-pkcs11-")
        os.chmod(self.path, 0o755)
        self.home = os.path.join(self.path, "home")
        self.site = os.path.join(self.path, "site")
        self.user = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        for folder in (self.home, self.site):
            os.mkdir(folder, 0o700)
            self.own(folder)
        self.environment = {"PATH": os.environ["PATH"] + ":/usr/sbin", "HOME": self.home, "LC_ALL": "C.UTF-8",
                            "COFFER_HOME": os.path.join(self.home, "vault")}
        self.server = None
        self.passcode = passcode
        options = ["--keyring", "file", "--kdf-memory", "8", "--kdf-passes", "2", "--policy", "none"]
        if passcode:
            self("init", *options, "--passcode-fd", "0", data=PASSCODE)
            self.unlock()
        else:
            self("init", *options, "--no-passcode")
        self("pkcs11", "install")

    def own(self, path):
        if self.user:
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def identity(self):
        """How subprocess starts a program as the user."""
        if not self.user:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}

    def __call__(self, *arguments, data=b"", expected=0):
        return self.run([self.coffer, *arguments], data, expected)

    def run(self, command, data=b"", expected=0, extra=None):
        done = subprocess.run(command, input=data, env=dict(self.environment, **(extra or {})), cwd=self.home,
                              timeout=DEADLINE, capture_output=True, start_new_session=True, **self.identity())
        if expected is not None:
            check(done.returncode == expected,
                  f"{command}: {done.returncode}, not {expected}: {done.stdout!r} {done.stderr!r}")
        return done

    def start(self, command, **options):
        return subprocess.Popen(command, env=self.environment, cwd=self.home, start_new_session=True,
                                **self.identity(), **options)

    def unlock(self):
        self("unlock", "--passcode-fd", "0", data=PASSCODE)

    def lock(self):
        self("lock")

    # The authority and the server

    def authority(self):
        """Makes a root, an authority below it, and the server's certificate."""
        site = self.site
        curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        self.run(["openssl", "req", "-x509", *curve, "-keyout", f"{site}/ca.key", "-out", f"{site}/ca.pem",
                  "-subj", "/CN=root", "-days", "300"])
        for name, extension in (("middle", "basicConstraints=critical,CA:TRUE"),
                                ("server", "subjectAltName=DNS:localhost,IP:127.0.0.1")):
            self.run(["openssl", "req", *curve, "-keyout", f"{site}/{name}.key", "-out", f"{site}/{name}.csr",
                      "-subj", f"/CN={name}"])
            self.write(f"{site}/{name}.cnf", extension + "\n")
            self.run(["openssl", "x509", "-req", "-in", f"{site}/{name}.csr", "-CA", f"{site}/ca.pem", "-CAkey",
                      f"{site}/ca.key", "-CAcreateserial", "-days", "200", "-extfile", f"{site}/{name}.cnf",
                      "-out", f"{site}/{name}.pem"])
        # curl and gnutls-cli send a client's certificate alone, so the server must know the authority between.
        authorities = self.read(f"{site}/ca.pem") + self.read(f"{site}/middle.pem")
        self.write(f"{site}/authorities.pem", authorities.decode())

    def write(self, path, text):
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(text)
        self.own(path)

    def read(self, path):
        with open(path, "rb") as stream:
            return stream.read()

    def certify(self, alias, name="middle"):
        """Has the authority sign a key pair's request, and installs the chain."""
        request = self("key", "csr", alias).stdout
        site = self.site
        signed = self.run(["openssl", "x509", "-req", "-copy_extensions", "copyall", "-days", "100", "-CA",
                           f"{site}/{name}.pem", "-CAkey", f"{site}/{name}.key", "-CAcreateserial"], request).stdout
        above = self.read(f"{site}/middle.pem") if name == "middle" else b""
        self.write(f"{self.site}/{alias}.chain", (signed + above).decode())
        self("key", "install", alias, f"{self.site}/{alias}.chain")

    def serve(self):
        """Starts nginx, which asks for a client's certificate; returns its port."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.write(f"{self.site}/nginx.conf", CONFIGURATION.format(path=self.site, port=port))
        self.server = self.start(["nginx", "-c", f"{self.site}/nginx.conf", "-p", self.site, "-e",
                                  f"{self.site}/nginx.log"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        end = time.monotonic() + DEADLINE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 5).close()
                return port
            except OSError:
                check(time.monotonic() < end and self.server.poll() is None, "nginx did not start")
                time.sleep(0.05)

    def close(self):
        if self.server:
            self.server.terminate()
            self.server.wait(DEADLINE)
        if self.passcode:
            self("lock", expected=None)
        shutil.rmtree(self.path)
