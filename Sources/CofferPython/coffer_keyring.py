"""Python's keyring on a vault of Coffer, without a message bus.

A password is the token of its service and username, which `coffer token get SERVICE USERNAME` prints. The vault is
in the property home (KEYRING_PROPERTY_HOME), else in $COFFER_HOME, else in its default directory, and is unlocked by
`coffer unlock`, or needs no passcode. Where there is no vault, keyring chooses another backend.
"""
import os

import coffer
from keyring import errors
from keyring.backend import KeyringBackend
from keyring.credentials import SimpleCredential

try:
    from keyring.compat import properties
except ImportError:
    from keyring._compat import properties


class Keyring(KeyringBackend):
    """The passwords of keyring as tokens of a vault."""

    home = None

    @properties.classproperty
    def priority(cls):
        """Below those of the Secret Service, 4.8 and 5, where there is a bus; above them otherwise.

        Raises RuntimeError if there is no library or no vault. Makes no call that would keep processes that are
        forked later from using the library.
        """
        try:
            coffer.load()
        except coffer.LibraryError as error:
            raise RuntimeError(str(error)) from error
        home = _home(None) or _default_home()
        if not os.path.isdir(home):
            raise RuntimeError(f"There is no vault in {home}.")
        return 4.5 if _has_bus() else 5.5

    def get_password(self, service, username):
        try:
            with self._open() as vault, vault.tokens[service, username] as token:
                return token.decode()
        except coffer.AbsentError:
            return None
        except UnicodeDecodeError:
            raise errors.KeyringError("The stored token is not text.") from None
        except coffer.CofferError as error:
            raise _translated(error, errors.KeyringError) from error

    def set_password(self, service, username, password):
        encoded = None
        try:
            encoded = password.encode()
        except UnicodeEncodeError:
            # That error has the password in it, so this one must not refer to it.
            pass
        if encoded is None:
            raise errors.PasswordSetError("The password must be text that UTF-8 has.")
        with coffer.Secret(encoded) as token:
            try:
                with self._open() as vault:
                    vault.tokens[service, username] = token
            except coffer.CofferError as error:
                raise _translated(error, errors.PasswordSetError) from error

    def delete_password(self, service, username):
        try:
            with self._open() as vault:
                del vault.tokens[service, username]
        except coffer.CofferError as error:
            raise _translated(error, errors.PasswordDeleteError) from error

    def get_credential(self, service, username):
        """As get_password. Without a username, the only one of the service, and None if there are several."""
        if username is None:
            try:
                with self._open() as vault:
                    names = [token["account"] for token in vault.tokens.list()
                             if token["service"] == service and token["kind"] == "access"]
            except coffer.CofferError as error:
                raise _translated(error, errors.KeyringError) from error
            if len(names) != 1:
                return None
            username = names[0]
        password = self.get_password(service, username)
        return None if password is None else SimpleCredential(username, password)

    def _open(self):
        return coffer.Vault.open(_home(self.home))


def _home(chosen):
    return chosen or os.environ.get("COFFER_HOME") or None


def _default_home():
    data = os.environ.get("XDG_DATA_HOME", "")
    return os.path.join(data if data.startswith("/") else os.path.expanduser("~/.local/share"), "coffer")


def _has_bus():
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return bool(os.environ.get("DBUS_SESSION_BUS_ADDRESS")) or bool(
        runtime and os.path.exists(os.path.join(runtime, "bus")))


def _translated(error, general):
    """The error of keyring for one of the library; general where it has none of its own."""
    if isinstance(error, coffer.LockedError):
        return errors.KeyringLocked(f"{error} To unlock the vault, run coffer unlock.")
    if isinstance(error, (coffer.LibraryError, coffer.NotInitialisedError)):
        return errors.InitError(str(error))
    return general(str(error))
