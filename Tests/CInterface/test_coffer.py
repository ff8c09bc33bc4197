"""The Python module coffer, by pytest. $COFFER is the command; the loader finds libcoffer.so.0 and PYTHONPATH the
module."""
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import threading

import pytest

import coffer

CHEAP = {"kdf_memory_mib": 8, "kdf_passes": 2}


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def vault(home):
    with coffer.Vault.create(home, passcode=b"one", never_erase=True, **CHEAP) as vault:
        yield vault


def test_versions():
    assert coffer.info()["abiVersion"] == 1
    assert coffer.info()["version"] == coffer.version()
    # PEP 440 writes a version that is being prepared in another way.
    assert coffer.__version__ == coffer.version().replace("-dev", ".dev0")


def test_tokens(vault):
    vault.tokens["s", "a"] = b"x\0y"
    with vault.tokens["s", "a"] as token:
        assert token == b"x\0y"
        assert repr(token) == str(token) == f"{token}" == "<Secret of 3 bytes>"
    assert len(token) == 0
    assert vault.tokens.get("s", "a") == b"x\0y"
    assert ("s", "a") in vault.tokens and ("s", "b") not in vault.tokens
    vault.tokens["s", "a", "refresh"] = bytearray(b"")
    assert vault.tokens["s", "a", "refresh"] == b""
    found = {(token["service"], token["account"], token["kind"]) for token in vault.tokens.list()}
    assert found == {("s", "a", "access"), ("s", "a", "refresh")}
    del vault.tokens["s", "a"]
    assert vault.tokens.get("s", "a") is None and vault.tokens.get("s", "a", default=b"d") == b"d"
    with pytest.raises(KeyError) as caught:
        vault.tokens["s", "a"]
    assert caught.type is coffer.AbsentError and caught.value.code == 3 and caught.value.name == "absent"
    with pytest.raises(coffer.AbsentError):
        del vault.tokens["s", "a"]


def test_options(vault):
    version = vault.tokens.put(
        "s", "a", b"x", expires=2000000000.5, scopes=["read", "write"], label="Ada's", if_absent=True,
        protection_class="whenUnlocked")
    known = vault.tokens.info("s", "a")
    assert (known["expires"], known["scopes"], known["class"]) == (2000000000.5, ["read", "write"], "whenUnlocked")
    assert known["attributes"]["label"] == "Ada's" and known["version"] == version
    with pytest.raises(coffer.ConflictError):
        vault.tokens.put("s", "a", b"y", if_absent=True)
    with pytest.raises(coffer.ConflictError):
        vault.tokens.put("s", "a", b"y", if_version=version + 1)
    assert vault.tokens.put("s", "a", b"y", if_version=version) > version
    vault.tokens.put("s", "v", b"gone", volatile=True)
    vault.lock()
    vault.unlock(b"one")
    assert vault.tokens.get("s", "v") is None and vault.tokens["s", "a"] == b"y"


def test_locked(home, vault):
    vault.tokens["s", "a"] = b"x"
    vault.lock()
    assert not vault.is_unlocked
    with pytest.raises(coffer.LockedError) as caught:
        vault.tokens["s", "a"]
    assert caught.value.code == 4 and str(caught.value)
    with coffer.Vault.open(home) as other:
        assert not other.is_unlocked
        with pytest.raises(coffer.LockedError):
            other.unlock()
        # A locked vault takes what is written, and keeps it for the next unlock.
        assert other.tokens.put("s", "b", b"later") == 0
        other.unlock(bytearray(b"one"))
        assert other.tokens["s", "b"] == b"later"
    coffer.lock(home)


def test_wrong_passcode(home):
    with coffer.Vault.create(home, passcode=b"one", **CHEAP):
        pass
    with pytest.raises(coffer.WrongPasscodeError) as caught:
        coffer.Vault.open(home, passcode=b"two")
    error = caught.value
    assert (error.code, error.name, error.attempts_left) == (5, "wrongPasscode", 9)
    assert "two" not in str(error) and pickle.loads(pickle.dumps(error)).attempts_left == 9
    with coffer.Vault.open(home, passcode=b"one") as vault:
        assert vault.is_unlocked and coffer.status(home)["attemptsLeft"] == 10
        vault.change_passcode(b"one", b"t\0o")
        vault.lock()
        reader, writer = os.pipe()
        os.write(writer, b"t\0o\n")
        os.close(writer)
        vault.unlock_from(reader)
        os.close(reader)  # is still this program's
        assert vault.is_unlocked


def test_without_passcode(home):
    coffer.Vault.create(home, passcode=None, **CHEAP).close()
    with coffer.Vault.open(home) as vault:
        vault.tokens["s", "a"] = b"x"
        assert coffer.Vault.open(home).tokens["s", "a"] == b"x"


def test_places(home, vault):
    with pytest.raises(coffer.NotInitialisedError):
        coffer.Vault.open(home / "none")
    with pytest.raises(coffer.NotInitialisedError):
        coffer.Vault.open(home, "ada")
    with pytest.raises(coffer.AlreadyExistsError):
        coffer.Vault.create(home, passcode=b"one", **CHEAP)
    vault.tokens["s", "a"] = b"x"
    assert coffer.status(home)["tokens"] == 1
    assert coffer.wipe(home)["failures"] == []
    with pytest.raises(coffer.CofferError) as caught:
        vault.tokens["s", "a"]
    assert caught.value.code in (4, 6)


def test_damage(home, vault):
    vault.tokens["s", "a"] = b"x"
    vault.close()
    damaged = 0
    for path in home.rglob("*"):
        if path.is_file() and "token" in path.name:
            content = bytearray(path.read_bytes())
            content[-1] ^= 1
            path.write_bytes(content)
            damaged += 1
    assert damaged
    with coffer.Vault.open(home, passcode=b"one") as again, pytest.raises(coffer.CorruptError):
        again.tokens["s", "a"]


def test_invalid(home, vault):
    for service, account, kind in [("", "a", None), ("s", "a", "Access"), ("s" * 1025, "a", None),
                                   ("s\0", "a", None), ("s", "a\0b", None), ("\ud800", "a", None)]:
        with pytest.raises(coffer.InvalidInputError) as caught:
            vault.tokens[service, account, kind] = b"x"
        assert isinstance(caught.value, ValueError) and caught.value.code == 64
    for token in ["x", 1, None, memoryview(b"x")]:
        with pytest.raises((TypeError, coffer.InvalidInputError)):
            vault.tokens["s", "a"] = token
            # NULL and 0 are an empty token.
            raise TypeError if token is None else AssertionError(token)
    with pytest.raises(coffer.InvalidInputError):
        vault.tokens["s", "a"] = bytearray((1 << 20) + 1)
    for name in [(None, "a"), ("s", None), (b"s", "a")]:
        with pytest.raises(TypeError):
            vault.tokens[name]
    with pytest.raises(coffer.InvalidInputError):
        coffer.Vault.open("a\0b")
    with pytest.raises(coffer.InvalidInputError):
        vault.unlock(b"")
    for seconds in [0, -1, float("nan"), 86401]:
        with pytest.raises(coffer.InvalidInputError):
            vault.set_timeout(seconds)


def test_numbers_that_c_would_cut(home):
    for name, value in [
            ("inactivity", -1), ("inactivity", 0), ("inactivity", (1 << 32) + 5), ("kdf_memory_mib", (1 << 32) + 8),
            ("kdf_passes", -1)]:
        with pytest.raises(coffer.InvalidInputError):
            coffer.Vault.create(home, passcode=b"one", **{**CHEAP, name: value})
    assert not home.exists()


def test_text_is_no_list_of_scopes(vault):
    with pytest.raises(TypeError):
        vault.tokens.put("s", "a", b"x", scopes="read write")
    with pytest.raises(coffer.InvalidInputError):
        vault.tokens.put("s", "a", b"x", if_version=-1)
    assert vault.tokens.get("s", "a") is None


def test_reading_takes_no_more_memory_than_the_file(vault):
    id = vault.files.add("f", b"hello")
    assert vault.files.read(id, size=1 << 62) == b"hello" and vault.files.read(id, 3, 1 << 40) == b"lo"
    assert vault.files.read(id, 9, 1 << 40) == b""
    for offset, size in [(-1, 1), (0, -1), (1 << 63, 1)]:
        with pytest.raises(coffer.InvalidInputError):
            vault.files.read(id, offset, size)


def test_closed(home, vault):
    vault.close()
    vault.close()
    for call in [lambda: vault.tokens["s", "a"], vault.lock, lambda: vault.is_unlocked, vault.files.list]:
        with pytest.raises(coffer.InvalidInputError):
            call()


def test_secrets_are_cleared():
    secret = coffer.Secret(b"0123456789abcdef")
    address = ctypes.addressof((ctypes.c_char * 16).from_buffer(secret))
    held = memoryview(secret)
    assert ctypes.string_at(address, 16) == b"0123456789abcdef"
    secret.clear()  # while something else uses the memory
    assert held == bytes(16) and len(secret) == 16
    held.release()
    secret.clear()
    assert len(secret) == 0 and not secret
    with pytest.raises(TypeError):
        pickle.dumps(coffer.Secret(b"x"))
    with pytest.raises(TypeError):
        hash(secret)
    assert coffer.Secret(b"x") != b"y" and coffer.Secret(b"x") == coffer.Secret(b"x") != "x"


def test_secrets_are_cleared_when_nothing_refers_to_them(vault):
    cleared = []
    memset = coffer._clear.__defaults__[0]
    coffer._clear.__defaults__ = (lambda *arguments: (cleared.append(arguments[2]), memset(*arguments)),)
    try:
        vault.tokens["s", "a"] = b"12345"
        assert vault.tokens["s", "a"] == b"12345"
        gc.collect()
    finally:
        coffer._clear.__defaults__ = (memset,)
    assert cleared == [5]


def test_refresh(vault):
    vault.tokens["s", "a"] = b"old"
    with vault.tokens.refresh("s", "a") as refresh:
        assert refresh.is_needed and refresh.token == b"old"
        refresh.commit(b"new", expires=2000000000)
    assert not refresh.is_needed and len(refresh.token) == 0
    assert vault.tokens["s", "a"] == b"new" and vault.tokens.info("s", "a")["expires"] == 2000000000
    with pytest.raises(ZeroDivisionError), vault.tokens.refresh("s", "a"):
        1 / 0
    with vault.tokens.refresh("s", "a") as refresh:
        refresh.abandon()
        with pytest.raises(coffer.InvalidInputError):
            refresh.commit(b"late")
    assert vault.tokens["s", "a"] == b"new"
    with vault.tokens.refresh("s", "a") as refresh:
        refresh.revoked()
    assert vault.tokens.get("s", "a") is None
    with pytest.raises(coffer.AbsentError):
        vault.tokens.refresh("s", "a")


def test_files(tmp_path, vault):
    content = os.urandom(3 << 20)
    id = vault.files.add("large", content)
    assert vault.files.read(id) == content
    assert vault.files.read(id, 1000, 24) == content[1000:1024]
    assert vault.files.read(id, len(content) - 5, 100) == content[-5:]
    assert vault.files.read(id, len(content)) == vault.files.read(id, 0, 0) == b""
    (tmp_path / "letter").write_bytes(b"hello")
    letter = vault.files.add_path(tmp_path / "letter")
    vault.files.rename(letter, "note")
    assert {file["name"]: file["length"] for file in vault.files.list()} == {"large": 3 << 20, "note": 5}
    vault.files.remove(letter)
    for call in [lambda: vault.files.read(letter), lambda: vault.files.remove(letter)]:
        with pytest.raises(coffer.AbsentError):
            call()
    for call in [lambda: vault.files.read("no id"), lambda: vault.files.read(id, -1),
                 lambda: vault.files.add("a/b", b""), lambda: vault.files.read(id, 0, -1)]:
        with pytest.raises(coffer.InvalidInputError):
            call()


def test_threads(vault):
    failures = []

    def work(number):
        try:
            for _ in range(3):
                for attempt in range(20):
                    try:
                        vault.tokens["threads", str(number)] = str(number).encode()
                        break
                    except coffer.BusyError:
                        assert attempt < 19
                assert vault.tokens["threads", str(number)] == str(number).encode()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not failures and len(vault.tokens.list()) == 16


def test_a_blocked_call_lets_other_threads_run_and_ends_at_its_deadline(vault):
    vault.lock()
    reader, writer = os.pipe()
    ticks = []
    coffer.set_timeout(0.2)
    try:
        thread = threading.Thread(target=lambda: ticks.append(1))
        thread.start()
        with pytest.raises(TimeoutError) as caught:
            vault.unlock_from(reader)
        assert caught.type is coffer.TimedOutError and caught.value.code == 9
    finally:
        coffer.set_timeout(60)
        os.close(writer)
        os.close(reader)
    thread.join(60)
    assert ticks == [1]
    vault.unlock(b"one")


def test_fork(vault):
    vault.tokens["s", "a"] = b"x"
    token = vault.tokens["s", "a"]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for call in [lambda: vault.tokens["s", "a"], vault.lock, coffer.info, lambda: vault.is_unlocked]:
                try:
                    call()
                    raise AssertionError("A call in the child succeeded.")
                except coffer.ForkedError as error:
                    assert error.code == 100 and "fork" in str(error)
            assert token == b"x"
            vault.close()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert vault.tokens["s", "a"] == b"x"


def test_missing_library(tmp_path):
    (tmp_path / "text").write_text("not a library")
    for path in [tmp_path / "none.so", tmp_path / "text", "libcoffer-of-no-such-name.so.0", "libc.so.6"]:
        with pytest.raises(coffer.LibraryError) as caught:
            coffer.load(path)
        assert isinstance(caught.value, OSError) and "libcoffer" in str(caught.value)
    # Without the library, the first call says so.
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    program = (
        "import coffer, ctypes\n"
        "try: ctypes.CDLL('libcoffer.so.0'); print('installed')\n"
        "except OSError:\n"
        "    try: coffer.Vault.open()\n"
        "    except coffer.LibraryError as error: print(error)\n")
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=60, check=True)
    assert b"libcoffer" in run.stdout or run.stdout == b"installed\n"


def test_the_command_reads_what_python_stored(home, vault):
    vault.tokens["s", "a"] = b"from Python"
    reader, writer = os.pipe()
    os.write(writer, b"one\n")
    os.close(writer)
    run = subprocess.run(
        [os.environ["COFFER"], "token", "get", "s", "a", "--home", home, "--passcode-fd", str(reader)],
        pass_fds=[reader], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    os.close(reader)
    assert run.stdout == b"from Python", run.stderr
