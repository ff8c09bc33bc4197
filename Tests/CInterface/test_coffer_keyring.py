"""The keyring backend: keyring's own tests of a backend, and what it says when something is missing. As for
test_coffer.py; the tests know of no message bus."""
import os
import subprocess
import sys

import pytest
from keyring import errors
from keyring.testing.backend import BackendBasicTests

import coffer
import coffer_keyring

CHEAP = {"kdf_memory_mib": 8, "kdf_passes": 2}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    monkeypatch.setenv("COFFER_HOME", str(home))
    return home


class TestKeyring(BackendBasicTests):
    def init_keyring(self):
        coffer.Vault.create(os.environ["COFFER_HOME"], passcode=None, **CHEAP).close()
        return coffer_keyring.Keyring()

    def test_the_command_reads_it(self):
        self.set_password("svc", "ada", "pässword")
        command = [os.environ["COFFER"], "token", "get", "svc", "ada"]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        assert run.stdout.decode() == "pässword", run.stderr

    def test_the_only_credential(self):
        self.set_password("svc", "ada", "p")
        assert self.keyring.get_credential("svc", None).username == "ada"
        self.set_password("svc", "bob", "q")
        assert self.keyring.get_credential("svc", None) is None

    def test_another_home(self, tmp_path):
        other = self.keyring.with_properties(home=str(tmp_path / "other"))
        with pytest.raises(errors.InitError):
            other.get_password("svc", "ada")
        coffer.Vault.create(tmp_path / "other", passcode=None, **CHEAP).close()
        other.set_password("svc", "ada", "p")
        assert other.get_password("svc", "ada") == "p" and self.keyring.get_password("svc", "ada") is None

    def test_what_cannot_be_stored(self):
        for service, username, password in [("", "a", "p"), ("s\0", "a", "p"), ("s", "a", "p" * (1 << 20) + "p")]:
            with pytest.raises(errors.PasswordSetError):
                self.keyring.set_password(service, username, password)

    def test_an_error_has_no_password(self):
        password = "secret\ud800"
        with pytest.raises(errors.PasswordSetError) as caught:
            self.keyring.set_password("s", "a", password)
        assert caught.value.__cause__ is None and caught.value.__context__ is None
        assert "secret" not in str(caught.value)

    def test_what_is_not_text(self, home):
        with coffer.Vault.open(home) as vault:
            vault.tokens["svc", "ada"] = b"\xff"
        with pytest.raises(errors.KeyringError, match="not text"):
            self.keyring.get_password("svc", "ada")


def test_locked(home):
    with coffer.Vault.create(home, passcode=b"one", never_erase=True, **CHEAP) as vault:
        vault.tokens["svc", "ada"] = b"sooner"
    keyring = coffer_keyring.Keyring()
    # A locked vault knows the names of its tokens.
    assert keyring.get_password("svc", "bob") is None
    with pytest.raises(errors.KeyringLocked, match="coffer unlock"):
        keyring.get_password("svc", "ada")
    with pytest.raises(errors.KeyringLocked):
        keyring.get_credential("svc", None)
    # A locked vault takes new passwords, which the next unlock brings in.
    keyring.set_password("svc", "bob", "later")
    with coffer.Vault.open(home, passcode=b"one") as vault:
        assert vault.tokens["svc", "ada"] == b"sooner" and vault.tokens["svc", "bob"] == b"later"


def test_without_a_vault():
    assert not coffer_keyring.Keyring.viable
    with pytest.raises(RuntimeError, match="no vault"):
        coffer_keyring.Keyring.priority


def test_priority(home, monkeypatch):
    """Where there is a bus, its Secret Service comes first; without one, this backend does."""
    home.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home))
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
    assert coffer_keyring.Keyring.priority < 4.8
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS")
    assert coffer_keyring.Keyring.priority > 5
    (home / "bus").touch()
    assert coffer_keyring.Keyring.priority < 4.8


def run(*arguments, **changes):
    """Runs Python where there is no bus."""
    left_out = ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"]
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    environment.update(changes)
    return subprocess.run(
        [sys.executable, *arguments], env=environment, input=b"secret\n", capture_output=True, timeout=60)


def test_without_the_library(home):
    home.mkdir()
    program = (
        "import coffer, coffer_keyring\n"
        "try: coffer.load('libcoffer-of-no-such-name.so.0')\n"
        "except coffer.LibraryError: pass\n"
        "coffer.load = lambda: (_ for _ in ()).throw(coffer.LibraryError('libcoffer could not be loaded'))\n"
        "assert not coffer_keyring.Keyring.viable\n")
    assert run("-c", program).returncode == 0


def test_keyring_finds_and_uses_it(home, tmp_path):
    """As installed, with an entry point, where there is no bus."""
    coffer.Vault.create(home, passcode=None, **CHEAP).close()
    description = tmp_path / "site/coffer-0.dist-info"
    description.mkdir(parents=True)
    (description / "METADATA").write_text("Metadata-Version: 2.1\nName: coffer\nVersion: 0\n")
    (description / "entry_points.txt").write_text("[keyring.backends]\ncoffer = coffer_keyring\n")
    path = f"{tmp_path / 'site'}:{os.environ['PYTHONPATH']}"
    stored = run("-m", "keyring", "set", "svc", "ada", PYTHONPATH=path)
    assert stored.returncode == 0, stored.stderr
    assert run("-m", "keyring", "get", "svc", "ada", PYTHONPATH=path).stdout == b"secret\n"
    assert coffer.Vault.open(home).tokens["svc", "ada"] == b"secret"
    # Without a vault, keyring has another backend, or none.
    assert run("-m", "keyring", "get", "svc", "ada", PYTHONPATH=path, COFFER_HOME=str(tmp_path / "none")).stdout == b""


def test_forked(home):
    """A program that looked for a backend, and then forked, can use it in its children."""
    coffer.Vault.create(home, passcode=None, **CHEAP).close()
    program = (
        "import os, coffer_keyring\n"
        "assert coffer_keyring.Keyring.priority\n"
        "child = os.fork()\n"
        "if child == 0: coffer_keyring.Keyring().set_password('s', 'a', 'p'); os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
        "assert coffer_keyring.Keyring().get_password('s', 'a') == 'p'\n"
        "from keyring.errors import KeyringError\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    try: coffer_keyring.Keyring().get_password('s', 'a')\n"
        "    except KeyringError as error: os._exit(0 if 'fork' in str(error) else 1)\n"
        "    finally: os._exit(2)\n"
        "assert os.waitpid(child, 0)[1] == 0\n")
    done = run("-c", program)
    assert done.returncode == 0, done.stderr
