"""Vaults of Coffer: tokens and files, encrypted at rest.

    import coffer

    with coffer.Vault.open() as vault:
        with vault.tokens["api.example.org", "ada"] as token:
            use(token)

The module calls libcoffer, whose header coffer.h documents each function, and needs nothing else but Python 3.9.

Secrets come as Secret, a bytearray that is cleared at the end of its `with` block, and by `clear`. Pass secrets as
bytearrays, too, and clear them: Python cannot clear str and bytes.

Every failure is a CofferError: an absent item, a locked vault and a wrong passcode have classes of their own.

Calls may be made from any thread, and let other threads run. A process that was forked from one that had made a
call gets ForkedError: start processes with "spawn" (multiprocessing), or fork before the first call.
"""
import ctypes
import hmac
import json
import os

__version__ = "0.1.0.dev0"
__all__ = [
    "AbsentError", "AlreadyExistsError", "BusyError", "CofferError", "ConflictError", "CorruptError", "Files",
    "ForkedError", "InvalidInputError", "KeyringUnavailableError", "LibraryError", "LockedError",
    "NotInitialisedError", "RefusedError", "Refresh", "Secret", "TimedOutError", "Tokens", "Vault", "WipedError",
    "WrongPasscodeError", "info", "load", "lock", "set_timeout", "status", "version", "wipe",
]


class CofferError(Exception):
    """A failure.

    code: one of the COFFER_ values of coffer.h, which are the exit codes of the command coffer.
    name: the kind of failure in one word, such as "locked".
    attempts_left: after a wrong passcode, the attempts left before everything is erased; otherwise None.
    retry_after: after a wrong passcode, the seconds to wait before another attempt; otherwise None.
    """

    def __init__(self, message, code=1, name="", attempts_left=None, retry_after=None):
        super().__init__(message)
        self.message = message
        self.code = code
        self.name = name
        self.attempts_left = attempts_left
        self.retry_after = retry_after

    def __str__(self):
        return self.message

    def __reduce__(self):
        return type(self), (self.message, self.code, self.name, self.attempts_left, self.retry_after)


class AbsentError(CofferError, KeyError):
    """There is no such item."""


class LockedError(CofferError):
    """The vault, or the keyring, is locked."""


class WrongPasscodeError(CofferError):
    """The passcode is wrong: see attempts_left and retry_after."""


class WipedError(CofferError):
    """The vault was wiped."""


class CorruptError(CofferError):
    """Stored data is damaged, not authentic, of another vault, of a newer release, or an older copy."""


class KeyringUnavailableError(CofferError):
    """The keyring that has the vault's key, or the kernel's keyring, is not available."""


class TimedOutError(CofferError, TimeoutError):
    """The deadline passed. The work may still take effect."""


class ConflictError(CofferError):
    """Another version is stored than the expected one."""


class RefusedError(CofferError):
    """A policy forbids this, or an attempt came too soon after a wrong passcode."""


class NotInitialisedError(CofferError):
    """There is no vault at this place."""


class AlreadyExistsError(CofferError):
    """There is a vault at this place."""


class InvalidInputError(CofferError, ValueError):
    """An argument is invalid, or the vault is closed."""


class BusyError(CofferError):
    """Another program holds what is needed: try again."""


class ForkedError(CofferError):
    """This process was forked from one that had used the library."""


class LibraryError(CofferError, OSError):
    """libcoffer is not installed, or is older than this module."""


_ERRORS = {
    3: AbsentError, 4: LockedError, 5: WrongPasscodeError, 6: WipedError, 7: CorruptError,
    8: KeyringUnavailableError, 9: TimedOutError, 10: ConflictError, 11: RefusedError, 12: NotInitialisedError,
    13: AlreadyExistsError, 64: InvalidInputError, 75: BusyError, 100: ForkedError,
}


class Secret(bytearray):
    """Bytes that are cleared at the end of a `with` block, by clear(), and when nothing refers to them any more.

    It compares in constant time with other bytes and does not print its content. What is made from it, such as
    decode() or a slice, is a copy, which is not cleared. The memory is Python's: it can be swapped out, and is
    part of a core dump.
    """

    def clear(self):
        """Overwrites the bytes with zeros, and leaves none unless something else, such as a traceback, uses them."""
        _clear(self)
        try:
            super().clear()
        except BufferError:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.clear()

    def __del__(self):
        _clear(self)

    def __repr__(self):
        return f"<Secret of {len(self)} bytes>"

    __str__ = __repr__
    __hash__ = None

    def __eq__(self, other):
        if not isinstance(other, (bytes, bytearray, memoryview)):
            return NotImplemented
        return hmac.compare_digest(memoryview(self), other)

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __reduce_ex__(self, _):
        raise TypeError("A secret is not pickled.")


def _clear(secret, memset=ctypes.memset):
    if len(secret):
        memset((ctypes.c_char * len(secret)).from_buffer(secret), 0, len(secret))


# ---- The library ----

class _Error(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("code", ctypes.c_int32), ("attempts_left", ctypes.c_int32),
        ("retry_after_ms", ctypes.c_int64), ("name", ctypes.c_char * 64), ("message", ctypes.c_char * 1024)]


class _CreateOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("inactivity_seconds", ctypes.c_uint32),
        ("kdf_memory_mib", ctypes.c_uint32), ("kdf_passes", ctypes.c_uint32)]


class _TokenOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("protection_class", ctypes.c_char_p), ("expires", ctypes.c_double),
        ("scopes", ctypes.c_char_p), ("label", ctypes.c_char_p), ("flags", ctypes.c_uint32),
        ("version", ctypes.c_uint64)]


_TEXT, _BYTES, _SIZE, _HANDLE = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p
_OUT, _U32 = ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32
_ITEM = [_HANDLE, _TEXT, _TEXT, _TEXT]

# The arguments of the functions that end with an error and return int, in the order of coffer.h.
_FUNCTIONS = {
    "coffer_info": [_OUT],
    "coffer_create": [_TEXT, _TEXT, _BYTES, _SIZE, ctypes.POINTER(_CreateOptions), _OUT],
    "coffer_open": [_TEXT, _TEXT, _OUT],
    "coffer_unlock": [_HANDLE, _BYTES, _SIZE],
    "coffer_unlock_fd": [_HANDLE, ctypes.c_int],
    "coffer_lock": [_HANDLE],
    "coffer_is_unlocked": [_HANDLE, ctypes.POINTER(ctypes.c_int)],
    "coffer_change_passcode": [_HANDLE, _BYTES, _SIZE, _BYTES, _SIZE],
    "coffer_set_timeout": [_HANDLE, _U32],
    "coffer_cancel": [_HANDLE],
    "coffer_status": [_TEXT, _TEXT, _OUT],
    "coffer_lock_at": [_TEXT, _TEXT],
    "coffer_wipe": [_TEXT, _TEXT, _OUT],
    "coffer_token_put": [
        *_ITEM, _BYTES, _SIZE, ctypes.POINTER(_TokenOptions), ctypes.POINTER(ctypes.c_uint64)],
    "coffer_token_get": [*_ITEM, _OUT],
    "coffer_token_info": [*_ITEM, _OUT],
    "coffer_token_list": [_HANDLE, _OUT],
    "coffer_token_remove": _ITEM,
    "coffer_refresh_begin": [*_ITEM, _U32, _OUT, _OUT],
    "coffer_refresh_commit": [_HANDLE, _BYTES, _SIZE, ctypes.c_double],
    "coffer_refresh_abandon": [_HANDLE],
    "coffer_refresh_revoked": [_HANDLE],
    "coffer_file_add": [_HANDLE, _TEXT, _BYTES, _SIZE, ctypes.c_char_p],
    "coffer_file_add_path": [_HANDLE, _TEXT, ctypes.c_char_p],
    "coffer_file_read_at": [_HANDLE, _TEXT, ctypes.c_uint64, _BYTES, _SIZE, ctypes.POINTER(_SIZE)],
    "coffer_file_list": [_HANDLE, _OUT],
    "coffer_file_rename": [_HANDLE, _TEXT, _TEXT],
    "coffer_file_remove": [_HANDLE, _TEXT],
}
_ABI = 1
_library = None


def load(path="libcoffer.so.0"):
    """Loads the library, which the first call does otherwise. A path or a name for the system's loader.

    Raises LibraryError if there is none, or if it is too old.
    """
    global _library
    try:
        library = ctypes.CDLL(os.fspath(path))
        library.coffer_abi_version.restype = ctypes.c_int
        library.coffer_abi_version.argtypes = []
        if library.coffer_abi_version() < _ABI:
            raise LibraryError(f"{path} is older than this module: install a newer libcoffer.")
        for name, arguments in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = ctypes.c_int, [*arguments, ctypes.POINTER(_Error)]
        library.coffer_version.restype, library.coffer_version.argtypes = ctypes.c_char_p, []
        library.coffer_close.restype, library.coffer_close.argtypes = ctypes.c_int, [_HANDLE]
        for name, result in [("data", ctypes.c_void_p), ("length", _SIZE), ("free", None)]:
            function = getattr(library, "coffer_bytes_" + name)
            function.restype, function.argtypes = result, [_HANDLE]
    except (OSError, AttributeError) as error:
        if isinstance(error, CofferError):
            raise
        raise LibraryError(f"libcoffer could not be loaded: {error}") from error
    _library = library


def _loaded():
    if _library is None:
        load()
    return _library


def _call(name, *arguments):
    """Calls a function; raises its failure."""
    error = _Error(size=ctypes.sizeof(_Error))
    code = getattr(_loaded(), name)(*arguments, ctypes.byref(error))
    if code == 0:
        return
    attempts, wait = error.attempts_left, error.retry_after_ms
    raise _ERRORS.get(code, CofferError)(
        error.message.decode(), code, error.name.decode(), None if attempts < 0 else attempts,
        None if wait < 0 else wait / 1000)


def _take(handle):
    """Moves the bytes of a handle to a Secret."""
    library = _loaded()
    try:
        length = library.coffer_bytes_length(handle)
        secret = Secret(length)
        if length:
            place = (ctypes.c_char * length).from_buffer(secret)
            ctypes.memmove(place, library.coffer_bytes_data(handle), length)
        return secret
    finally:
        library.coffer_bytes_free(handle)


def _returned(name, *arguments):
    """Calls a function whose last argument but the error is a place for bytes; returns these."""
    place = ctypes.c_void_p()
    _call(name, *arguments, ctypes.byref(place))
    return _take(place)


def _described(name, *arguments):
    """As _returned, for JSON."""
    with _returned(name, *arguments) as text:
        return json.loads(text)


def _text(value, name):
    """Text for C. None stays None."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{name} must be str, not {type(value).__name__}.")
    try:
        encoded = value.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(f"{name} must be text that UTF-8 has.", 64, "invalidInput") from None
    return _without_nul(encoded, name)


def _path(value, name):
    return None if value is None else _without_nul(os.fsencode(value), name)


def _without_nul(encoded, name):
    # C would take what is before it for the whole.
    if b"\0" in encoded:
        raise InvalidInputError(f"{name} must not contain a NUL.", 64, "invalidInput")
    return encoded


def _bytes(value, name):
    """The arguments for a secret or other bytes: an address, which is not None if they are empty, and a length."""
    if value is None:
        return None, 0
    if isinstance(value, str):
        raise TypeError(f"{name} must be bytes or a bytearray, not str.")
    if isinstance(value, bytes):
        return ctypes.cast(ctypes.c_char_p(value), ctypes.c_void_p), len(value)
    view = memoryview(value).cast("B")
    if view.readonly:
        raise TypeError(f"{name} must be bytes, or memory that can be written to, such as a bytearray.")
    length = len(view)
    place = (ctypes.c_char * max(length, 1)).from_buffer(view if length else bytearray(1))
    return ctypes.cast(place, ctypes.c_void_p), length


def _number(value, name, least=0):
    """A number for C, which would take only the last 32 bits of a greater one."""
    if not least <= value < 1 << 32:
        raise InvalidInputError(f"{name} must be {least} to {(1 << 32) - 1}.", 64, "invalidInput")
    return value


def _milliseconds(seconds):
    if not 0 < seconds <= 86_400:
        raise InvalidInputError("A deadline must be more than 0 and at most 86400 seconds.", 64, "invalidInput")
    return max(1, int(seconds * 1000))


def version():
    """The release of the library, such as "0.1.0"."""
    return _loaded().coffer_version().decode()


def info():
    """A dictionary that describes the library."""
    return _described("coffer_info")


def status(home=None, user=None):
    """A dictionary that describes the vault at this place, also if it is locked or wiped."""
    return _described("coffer_status", _path(home, "home"), _text(user, "user"))


def lock(home=None, user=None):
    """Locks the vault at this place for all programs."""
    _call("coffer_lock_at", _path(home, "home"), _text(user, "user"))


def wipe(home=None, user=None):
    """Erases the vault at this place with everything in it. This cannot be undone. Returns the receipt."""
    return _described("coffer_wipe", _path(home, "home"), _text(user, "user"))


def set_timeout(seconds):
    """Sets the deadline of calls without a vault, and of vaults that are opened later; the default is 60 seconds."""
    _call("coffer_set_timeout", None, _milliseconds(seconds))


class Vault:
    """An open vault. Use it in a `with` block, which closes it. tokens and files are what it contains."""

    def __init__(self, handle):
        # Vault.open and Vault.create call this.
        self._handle = handle
        self.tokens = Tokens(self)
        self.files = Files(self)

    @classmethod
    def open(cls, home=None, user=None, *, passcode=None):
        """Opens a vault.

        home: its directory; None is the default, $XDG_DATA_HOME/coffer, else ~/.local/share/coffer.
        user: the name of a user who has a vault of their own below home.
        passcode: bytes, or better a bytearray that the caller clears. Without one, the vault is unlocked if that
            needs none: by the keys that the command `coffer unlock` left, or because the vault has no passcode.
            Otherwise it stays locked: see is_unlocked and unlock.
        """
        place = ctypes.c_void_p()
        _call("coffer_open", _path(home, "home"), _text(user, "user"), ctypes.byref(place))
        vault = cls(place)
        try:
            vault.unlock(passcode)
        except LockedError:
            if passcode is not None:
                vault.close()
                raise
        except BaseException:
            vault.close()
            raise
        return vault

    @classmethod
    def create(
            cls, home=None, user=None, *, passcode, never_erase=False, movable=False, inactivity=600,
            kdf_memory_mib=0, kdf_passes=0):
        """Creates a vault, which is then unlocked.

        passcode: None for a vault without one: anyone who can read its directory can read its items.
        never_erase: wrong passcodes never erase the vault; otherwise, the tenth does.
        movable: new items can be restored on another device from a backup.
        inactivity: the seconds without use after which the vault locks; None for never.
        kdf_memory_mib, kdf_passes: the cost of a guess at the passcode; 0 is the default.
        """
        flags = (1 if never_erase else 0) + (2 if movable else 0) + (4 if inactivity is None else 0)
        options = _CreateOptions(
            ctypes.sizeof(_CreateOptions), flags, 0 if inactivity is None else _number(inactivity, "inactivity", 1),
            _number(kdf_memory_mib, "kdf_memory_mib"), _number(kdf_passes, "kdf_passes"))
        place = ctypes.c_void_p()
        _call("coffer_create", _path(home, "home"), _text(user, "user"), *_bytes(passcode, "passcode"),
              ctypes.byref(options), ctypes.byref(place))
        return cls(place)

    @property
    def is_unlocked(self):
        """Whether the vault is unlocked."""
        answer = ctypes.c_int()
        _call("coffer_is_unlocked", self._handle, ctypes.byref(answer))
        return answer.value != 0

    def unlock(self, passcode=None):
        """Unlocks the vault; without a passcode as open does. Every wrong passcode counts."""
        _call("coffer_unlock", self._handle, *_bytes(passcode, "passcode"))

    def unlock_from(self, descriptor):
        """Unlocks the vault with the first line of a file descriptor, so that this process does not have the passcode.

        The descriptor stays open: the library reads a duplicate, and may read beyond the line.
        """
        _call("coffer_unlock_fd", self._handle, os.dup(descriptor))

    def lock(self):
        """Removes the keys from memory. The vault stays open."""
        _call("coffer_lock", self._handle)

    def change_passcode(self, old, new):
        """Changes the passcode. None stands for no passcode."""
        _call("coffer_change_passcode", self._handle, *_bytes(old, "old"), *_bytes(new, "new"))

    def set_timeout(self, seconds):
        """Sets the deadline of each call; the default is 60 seconds."""
        _call("coffer_set_timeout", self._handle, _milliseconds(seconds))

    def cancel(self):
        """Asks the calls of other threads to stop. They raise CofferError with the name "cancelled"."""
        _call("coffer_cancel", self._handle)

    def close(self):
        """Removes the keys from memory and closes the vault. Does nothing the second time."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _loaded().coffer_close(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None) is not None and _library is not None:
            self.close()


class Tokens:
    """The tokens of a vault, by service and account, or by service, account and kind.

    kind is "access", "refresh", "id" or "other"; None is "access".
    """

    def __init__(self, vault):
        self._vault = vault

    def _item(self, service, account, kind=None):
        if service is None or account is None:
            raise TypeError("service and account must be str.")
        return self._vault._handle, _text(service, "service"), _text(account, "account"), _text(kind, "kind")

    def __getitem__(self, name):
        return _returned("coffer_token_get", *self._item(*name))

    def __setitem__(self, name, token):
        self.put(*name[:2], token, *name[2:])

    def __delitem__(self, name):
        _call("coffer_token_remove", *self._item(*name))

    def __contains__(self, name):
        try:
            self.info(*name)
        except AbsentError:
            return False
        return True

    def get(self, service, account, kind=None, default=None):
        """A token as a Secret, or default if there is none. Expired tokens are returned, too: see info."""
        try:
            return self[service, account, kind]
        except AbsentError:
            return default

    def put(
            self, service, account, token, kind=None, *, expires=None, scopes=None, label=None,
            protection_class=None, if_absent=False, if_version=None, volatile=False):
        """Stores a token of at most 1 MiB, which is on the disk when this returns.

        expires: seconds since 1970, or None for never.
        scopes: a list of str; None keeps those of the stored token.
        label: a label for the user; None keeps that of the stored token.
        if_absent: raises ConflictError if there is a token of this name.
        if_version: raises ConflictError unless this version is stored.
        volatile: keeps the token in memory only, until the vault is locked.
        Returns the version, which is 0 for a token that a locked vault keeps until it is unlocked.
        """
        if isinstance(scopes, str):
            raise TypeError("scopes must be a list of str, not str.")
        if if_version is not None and not 0 <= if_version < 1 << 64:
            raise InvalidInputError("if_version must be a version.", 64, "invalidInput")
        flags = (1 if if_absent else 0) + (0 if if_version is None else 2) + (4 if volatile else 0)
        options = _TokenOptions(
            ctypes.sizeof(_TokenOptions), _text(protection_class, "protection_class"), expires or 0,
            None if scopes is None else _text(" ".join(scopes), "scopes"), _text(label, "label"), flags,
            if_version or 0)
        stored = ctypes.c_uint64()
        _call("coffer_token_put", *self._item(service, account, kind), *_bytes(token, "token"),
              ctypes.byref(options), ctypes.byref(stored))
        return stored.value

    def info(self, service, account, kind=None):
        """A dictionary with what is known of a token but its value. Raises AbsentError."""
        return _described("coffer_token_info", *self._item(service, account, kind))

    def list(self):
        """Such dictionaries for all tokens, in no particular order."""
        return _described("coffer_token_list", self._vault._handle)

    def refresh(self, service, account, kind=None, *, timeout=60):
        """Begins to renew a token at its issuer: see Refresh."""
        refresh, token = ctypes.c_void_p(), ctypes.c_void_p()
        _call("coffer_refresh_begin", *self._item(service, account, kind), _milliseconds(timeout),
              ctypes.byref(refresh), ctypes.byref(token))
        return Refresh(refresh if refresh.value else None, _take(token))


class Refresh:
    """The right to renew a token, which one program on this machine has at a time. Use it in a `with` block.

    token: the present value.
    is_needed: False if another program has just renewed the token, which is then in token.

    Call commit, abandon or revoked before the time of Tokens.refresh is over. Without one, the block abandons.
    """

    def __init__(self, handle, token):
        self._handle = handle
        self.token = token

    @property
    def is_needed(self):
        return self._handle is not None

    def commit(self, token, expires=None):
        """Stores the new token. Raises LockedError if a locked vault keeps it for the next unlock."""
        self._end("coffer_refresh_commit", *_bytes(token, "token"), expires or 0)

    def abandon(self):
        """Ends without a new token. The old one stays."""
        self._end("coffer_refresh_abandon")

    def revoked(self):
        """Removes everything of the token's account, because the issuer said that the token was revoked."""
        self._end("coffer_refresh_revoked")

    def _end(self, name, *arguments):
        handle, self._handle = self._handle, None
        _call(name, handle, *arguments)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.token.clear()
        if self._handle is not None:
            self.abandon()


class Files:
    """The files of a vault, by their ids."""

    _CHUNK = 1 << 20

    def __init__(self, vault):
        self._vault = vault

    def add(self, name, content):
        """Stores a file from memory. Returns its id."""
        return self._added("coffer_file_add", _path(name, "name"), *_bytes(content, "content"))

    def add_path(self, path):
        """Stores a copy of a file on disk under its own name. Returns its id."""
        return self._added("coffer_file_add_path", _path(path, "path"))

    def _added(self, name, *arguments):
        place = ctypes.create_string_buffer(37)
        _call(name, self._vault._handle, *arguments, place)
        return place.value.decode()

    def read(self, id, offset=0, size=None):
        """At most size bytes of a file at an offset, or all that follow, as a Secret."""
        if not 0 <= offset < 1 << 63 or size is not None and size < 0:
            raise InvalidInputError("offset must be 0 to 2**63 - 1, and size at least 0.", 64, "invalidInput")
        if size is None or size > self._CHUNK:
            # No more memory than the file fills.
            lengths = [file["length"] for file in self.list() if file["id"] == id]
            rest = max(0, (lengths[0] if lengths else 0) - offset)
            size = rest if size is None else min(size, rest)
        content, done = Secret(size), 0
        try:
            while True:
                count = self._read_into(content, id, offset + done, done, min(self._CHUNK, size - done))
                done += count
                if done == size or count == 0:
                    break
            return content if done == size else _shortened(content, done)
        except BaseException:
            content.clear()
            raise

    def _read_into(self, content, id, offset, start, size):
        count = ctypes.c_size_t()
        place = (ctypes.c_char * size).from_buffer(content, start) if size else None
        _call("coffer_file_read_at", self._vault._handle, _text(id, "id"), offset, place, size,
              ctypes.byref(count))
        return count.value

    def list(self):
        """Dictionaries: id, name, length, modified, class, state, isVolatile."""
        return _described("coffer_file_list", self._vault._handle)

    def rename(self, id, name):
        """Renames a file."""
        _call("coffer_file_rename", self._vault._handle, _text(id, "id"), _path(name, "name"))

    def remove(self, id):
        """Removes a file. Raises AbsentError if there is none."""
        _call("coffer_file_remove", self._vault._handle, _text(id, "id"))


def _shortened(content, length):
    """A Secret with the first bytes of another, which is cleared."""
    with content, memoryview(content) as view:
        shorter = Secret(length)
        shorter[:] = view[:length]
    return shorter
