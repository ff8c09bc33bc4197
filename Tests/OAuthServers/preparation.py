"""Fetches and makes what the servers need, in one folder and without root."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import venv

from bed import Failure, run

WHEELS = ["django-oauth-toolkit==3.4.1", "oauthlib==3.3.1", "Django>=5.2,<5.3"]
# Always unpacked, also where they are installed: the pages are copied out of them.
PAGES = ["glewlwyd", "glewlwyd-common", "libjs-jquery", "libjs-popper.js", "libjs-bootstrap4", "fonts-fork-awesome"]
# Dependencies of the package's questions about databases, not of the server.
NEEDLESS = re.compile(r"dbconfig-|mariadb-(client|common)|mysql-common|default-mysql|.*-perl$")
YEAR, WEEK = "365", str(7 * 86400)


def prepare(bed, unpack_browser=False):
    """Does what is not yet done; gives a summary."""
    bed.folder.mkdir(parents=True, exist_ok=True)
    bed.runs.mkdir(exist_ok=True)
    for folder in bed.runs.iterdir():
        # Of a program that was killed, which could not take its files away.
        if time.time() - folder.stat().st_mtime > 86400:
            shutil.rmtree(folder)
    certificates(bed)
    unpack(bed, ["glewlwyd"], PAGES, bed.root / "usr/bin/glewlwyd")
    pages(bed)
    if unpack_browser or bed.browser() is None:
        try:
            unpack(bed, ["chromium-headless-shell"], ["chromium-headless-shell", "chromium-common"],
                   bed.root / "usr/lib/chromium/chromium-headless-shell")
        except Failure as failure:
            say(f"No browser: {failure}")
    python(bed)
    browser = bed.browser()
    summary = {"folder": str(bed.folder), "browser": str(browser) if browser else None}
    bed.prepared.write_text(json.dumps(summary) + "\n")
    return summary


def say(text):
    print(text, file=sys.stderr, flush=True)


def certificates(bed):
    """An authority, a certificate for localhost and 127.0.0.1, one for a client."""
    if bed.ca.exists():
        ends = [subprocess.run(["openssl", "x509", "-noout", "-checkend", WEEK, "-in", bed.tls / f"{name}.pem"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
                for name in ("ca", "server", "client")]
        if not any(ends):
            return
    say("making certificates")
    shutil.rmtree(bed.tls, ignore_errors=True)
    bed.tls.mkdir()

    def key(name):
        run("openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.key",
            folder=bed.tls)

    def signed(name, number, extension):
        key(name)
        (bed.tls / f"{name}.ext").write_text(f"basicConstraints=CA:FALSE\n{extension}\n")
        run("openssl", "req", "-new", "-key", f"{name}.key", "-subj", f"/CN=coffer test {name}", "-out", f"{name}.csr",
            folder=bed.tls)
        run("openssl", "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", number,
            "-days", YEAR, "-extfile", f"{name}.ext", "-out", f"{name}.pem", folder=bed.tls)

    key("ca")
    run("openssl", "req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=coffer test authority", "-days", YEAR,
        "-out", "ca.pem", "-addext", "keyUsage=critical,keyCertSign,cRLSign", folder=bed.tls)
    signed("server", "2", "subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage=serverAuth")
    signed("client", "3", "subjectAltName=DNS:client.test\nextendedKeyUsage=clientAuth")


def unpack(bed, wanted, always, proof):
    """Unpacks Debian packages with what they need that is not installed."""
    done = bed.packages / f"{wanted[0]}.done"
    if done.exists():
        return
    plan = run("apt-get", "-s", "install", "--no-install-recommends", *wanted).decode()
    names = {line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")}
    names = sorted(name for name in names | set(always) if not NEEDLESS.match(name))
    say(f"unpacking {' '.join(names)}")
    folder = bed.packages / wanted[0]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # As root, apt fetches as a user that may not write here, and then says that it goes on as root.
    run("apt-get", "download", "-q", "-o", "APT::Sandbox::User=root", *names, folder=folder)
    bed.root.mkdir(exist_ok=True)
    for package in sorted(folder.glob("*.deb")):
        run("dpkg-deb", "-x", package, bed.root)
    shutil.rmtree(folder)
    if not proof.exists():
        raise Failure(f"{wanted[0]} does not have {proof.relative_to(bed.root)}.")
    done.touch()


def pages(bed):
    """Glewlwyd's pages without links: its server follows none out of its folder."""
    if (bed.webapp / "config.json").exists():
        return
    shutil.rmtree(bed.webapp, ignore_errors=True)
    source = bed.root / "usr/share/glewlwyd/webapp"
    for folder, _, names in os.walk(source):
        for name in names:
            place = pathlib.Path(folder, name)
            copy = bed.webapp / place.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            # Maps of minified files lead nowhere in some releases; config.json does in an unpacked package.
            if place.is_file():
                shutil.copyfile(place, copy)
    shutil.copyfile(bed.root / "usr/share/glewlwyd/templates/config.json", bed.webapp / "config.json")


def python(bed):
    """django-oauth-toolkit in a Python of its own, and its database with the user and the clients."""
    if not (bed.folder / "venv" / "done").exists():
        say("installing " + " ".join(WHEELS))
        shutil.rmtree(bed.folder / "venv", ignore_errors=True)
        venv.create(bed.folder / "venv", with_pip=True, symlinks=True)
        run(bed.python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *WHEELS)
        (bed.folder / "venv" / "done").touch()
    if not bed.signing_key.exists():
        run("openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", bed.signing_key)
    if not bed.database.exists():
        say("making the database of django-oauth-toolkit")
        draft = bed.folder / "django.draft"
        draft.unlink(missing_ok=True)
        site = pathlib.Path(__file__).with_name("django_site.py")
        run(bed.python, site, "fill", json.dumps({"database": str(draft), "signingKey": str(bed.signing_key)}))
        draft.rename(bed.database)
