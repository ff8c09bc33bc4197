"""A machine on which the names of the article lead to this program: a network of its own, whose only
address is loopback, a file of hosts, and an authority that every program of the machine trusts."""
import ctypes
import fcntl
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

HOSTS = [f"{name}.example.org" for name in ("login", "git", "smtp", "kube", "api")]
AUTHORITIES = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
MARK, FOLDER = "COFFER_OAUTH_RECIPES", "COFFER_OAUTH_RECIPES_FOLDER"
PR_SET_PDEATHSIG = 1
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
MS_BIND, MS_REC = 0x1000, 0x4000


def enter():
    """In the first process: runs this program again, in namespaces of its own and with a folder, and ends
    with it. In the second: returns the folder. Only the first, which sees no mounts in it, removes it."""
    if MARK in os.environ:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        return pathlib.Path(os.environ[FOLDER])
    own = ["unshare", "--net", "--mount"]
    ways = {"root": own, "user": [*own, "--map-root-user"]}
    for name in ["root", "user"] if os.geteuid() == 0 else ["user"]:
        if subprocess.run([*ways[name], "true"], capture_output=True, timeout=60).returncode == 0:
            break
    else:
        sys.exit("oauth-recipes: unshare is not permitted here: run this as root, or permit user namespaces.")
    folder = tempfile.mkdtemp(prefix="oauth-recipes-")
    try:
        environment = dict(os.environ, **{MARK: name, FOLDER: folder})
        again = [*ways[name], sys.executable, *sys.argv]
        sys.exit(subprocess.run(again, env=environment, timeout=900).returncode)
    finally:
        if folder not in pathlib.Path("/proc/self/mountinfo").read_text():
            shutil.rmtree(folder)


def mount(source, target, more=0):
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(os.fsencode(source), os.fsencode(target), None, MS_BIND | more, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(target))


def move_root(folder):
    """In a user namespace, the machine's / and /etc belong to nobody, and coffer trusts no configuration in
    them: changes to a root with the same content that belongs to this user."""
    new = folder / "root"
    for place in ("", "etc"):
        (new / place).mkdir()
        # First the folder's own place, before there are mounts in it.
        for entry in sorted(os.scandir(f"/{place}"), key=lambda entry: not folder.is_relative_to(entry.path)):
            target = new / place / entry.name
            if entry.is_symlink():
                target.symlink_to(os.readlink(entry.path))
            elif entry.path != "/etc":
                target.mkdir() if entry.is_dir() else target.touch()
                mount(entry.path, target, MS_REC)
    os.chroot(new)
    os.chdir("/")


def furnish(folder):
    """Makes certificates and the file of hosts, and puts both where every program looks."""
    certificates(folder)
    (folder / "hosts").write_text(f"127.0.0.1 localhost {' '.join(HOSTS)}\n")
    if os.environ[MARK] == "user":
        move_root(folder)
    mount(folder / "hosts", "/etc/hosts")
    mount(folder / "ca.pem", os.path.realpath(AUTHORITIES))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        request = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(control, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def certificates(folder):
    """An authority, and a certificate for every host of the article."""
    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                       check=True, timeout=60)

    for name in ("ca", "server"):
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.key")
    openssl("req", "-x509", "-new", "-key", "ca.key", "-subj", "/CN=coffer test authority", "-days", "2",
            "-out", "ca.pem", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    names = ",".join(f"DNS:{host}" for host in HOSTS)
    (folder / "server.ext").write_text(
        f"basicConstraints=CA:FALSE\nsubjectAltName={names}\nextendedKeyUsage=serverAuth\n")
    openssl("req", "-new", "-key", "server.key", "-subj", "/CN=coffer test server", "-out", "server.csr")
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-set_serial", "2",
            "-days", "2", "-extfile", "server.ext", "-out", "server.pem")


def holders(secret):
    """The processes with a secret in an argument or in the environment."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                if secret in (process / name).read_bytes():
                    found.append(f"{(process / 'comm').read_text().strip()} ({name})")
            except OSError:
                continue
    return found
