"""Stores a token in a vault and reads it back, from Python by ctypes.

    python3 example.py LIBRARY HOME <PASSCODE
"""

import ctypes
import sys


class CofferError(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("code", ctypes.c_int32), ("attempts_left", ctypes.c_int32),
        ("retry_after_ms", ctypes.c_int64), ("name", ctypes.c_char * 64), ("message", ctypes.c_char * 1024)]


coffer = ctypes.CDLL(sys.argv[1])
coffer.coffer_bytes_data.restype = ctypes.c_void_p
coffer.coffer_bytes_data.argtypes = [ctypes.c_void_p]
coffer.coffer_bytes_length.restype = ctypes.c_size_t
coffer.coffer_bytes_length.argtypes = [ctypes.c_void_p]
coffer.coffer_bytes_free.restype = None
coffer.coffer_bytes_free.argtypes = [ctypes.c_void_p]


def call(function, *arguments):
    error = CofferError(size=ctypes.sizeof(CofferError))
    if function(*arguments, ctypes.byref(error)) != 0:
        raise OSError(error.code, error.message.decode())


vault, token = ctypes.c_void_p(), ctypes.c_void_p()
call(coffer.coffer_open, sys.argv[2].encode(), None, ctypes.byref(vault))
call(coffer.coffer_unlock_fd, vault, ctypes.c_int(0))
value = b"from Python"
call(coffer.coffer_token_put, vault, b"s", b"python", None, value, ctypes.c_size_t(len(value)), None, None)
call(coffer.coffer_token_get, vault, b"s", b"python", None, ctypes.byref(token))
print(ctypes.string_at(coffer.coffer_bytes_data(token), coffer.coffer_bytes_length(token)).decode())
coffer.coffer_bytes_free(token)
coffer.coffer_close(vault)
