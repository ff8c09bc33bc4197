"""Stops programs just before they end, copies their memory, and searches the copy for secrets.

A traced process is looked at when it is about to end, and when it is about to become another program: then
everything that it wrote is still where it was. Its children are followed as long as they run one of the
programs to look at. What the program itself cannot read, such as guard pages, is left out, and what comes
from a file and cannot be written.
"""
import base64
import bisect
import contextlib
import ctypes
import ctypes.util
import fcntl
import os
import pathlib
import signal
import subprocess

SEIZE, INTERRUPT, LISTEN, SYSCALL, CONTINUE, DETACH = 0x4206, 0x4207, 0x4208, 24, 7, 17
GET_MESSAGE, GET_SYSCALL = 0x4201, 0x420E
# Calls as stops of their own; children, exec and exit as events; nobody outlives the tracer.
OPTIONS = 1 | 2 | 4 | 8 | 0x10 | 0x40 | 0x100000
FORK, VFORK, CLONE, EXEC, EXIT, STOP = 1, 2, 3, 4, 6, 128
WAIT_ALL = 0x40000000
# The numbers of execve and execveat, and of exit_group.
EXECVE, EXIT_GROUP = {"x86_64": ({59, 322}, 231), "aarch64": ({221, 281}, 94)}[os.uname().machine]
PAGE = os.sysconf("SC_PAGE_SIZE")
libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


class Failure(Exception):
    """What went wrong, for people."""


def ptrace(request, thread, address=0, data=0):
    result = libc.ptrace(request, thread, address, data)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}: {os.strerror(ctypes.get_errno())}")
    return result


class Image:
    """The readable memory of one program."""

    def __init__(self, process, thread, program, moment):
        self.process, self.program, self.moment = process, program, moment
        self.regions, self.refused = [], 0
        folder = pathlib.Path(f"/proc/{process}/task/{thread}")
        with (open(folder / "mem", "rb", buffering=0) as memory,
              open(folder / "pagemap", "rb", buffering=0) as pages):
            for line in (folder / "maps").read_text().splitlines():
                span, rights, _, _, _, *name = line.split(maxsplit=5)
                # Nothing was written to what comes from a file and cannot be written.
                if rights[0] != "r" or (name and name[0].startswith(("[vvar", "[vsyscall"))) or (
                        "w" not in rights and name and name[0].startswith("/")):
                    continue
                begin, end = (int(part, 16) for part in span.split("-"))
                name = name[0] if name else "anonymous"
                parts = [(begin, end)]
                if rights[3] == "p" and not name.startswith("/"):
                    parts = self.used(pages, begin, end)
                for begin, end in parts:
                    self.regions.append((begin, rights, name, self.read(memory, begin, end)))

    @staticmethod
    def used(pages, begin, end):
        """The parts of private memory that were ever written: there, or swapped out."""
        pages.seek(begin // PAGE * 8)
        flags = memoryview(pages.read((end - begin) // PAGE * 8)).cast("Q")
        start = None
        for index, flag in enumerate([*flags, 0]):
            if flag >> 62 and start is None:
                start = index
            elif not flag >> 62 and start is not None:
                yield begin + start * PAGE, begin + index * PAGE
                start = None

    def read(self, memory, begin, end):
        """Pages that even a debugger cannot read become zeros."""
        pieces = []
        while begin < end:
            memory.seek(begin)
            try:
                piece = memory.read(min(end - begin, 1 << 24))
            except OSError:
                piece = b""
            if not piece:
                piece = bytes(PAGE)
                self.refused += PAGE
            pieces.append(piece)
            begin += len(piece)
        return b"".join(pieces)

    @property
    def size(self):
        return sum(len(data) for *_, data in self.regions)


class Tracer:
    """Runs one command to its end and keeps the images of the programs in a folder that it became."""

    def __init__(self, folder, limit=120):
        self.folder, self.limit = os.path.realpath(folder), limit

    def run(self, command, descriptors, environment, forked):
        """Runs a command with descriptors and calls `forked` once it has them; gives its code, and images."""
        self.images, self.programs, self.threads = [], {}, {}
        ready, go = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.read(ready, 1)
                # The sources may lie where others belong.
                moved = {target: fcntl.fcntl(source, fcntl.F_DUPFD, 100)
                         for target, source in descriptors.items()}
                for target, source in moved.items():
                    os.dup2(source, target, inheritable=True)
                os.closerange(max(moved) + 1, 256)
                os.setsid()
                os.execve(command[0], command, environment)
            finally:
                os._exit(127)
        os.close(ready)
        ptrace(SEIZE, child, 0, OPTIONS)
        self.threads[child] = {child}
        self.owner, self.seen = {child: child}, {child}
        os.write(go, b"x")
        os.close(go)
        forked()
        return self.follow(child), self.images

    def late(self, *_):
        raise Failure(f"still running after {self.limit} s")

    def follow(self, child):
        signal.signal(signal.SIGALRM, self.late)
        signal.alarm(self.limit)
        try:
            return self.until_the_end(child)
        finally:
            signal.alarm(0)
            # None is left, unless the time is over.
            for process in self.threads:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

    def until_the_end(self, child):
        """Other children of this process, such as a server, may also end meanwhile."""
        code = None
        while self.threads:
            thread, status = os.waitpid(-1, WAIT_ALL)
            if os.WIFSTOPPED(status):
                self.stopped(thread, status)
            elif thread in self.owner:
                process = self.owner.pop(thread)
                self.threads.get(process, set()).discard(thread)
                if thread == child:
                    code = os.waitstatus_to_exitcode(status)
                if thread == process:
                    self.threads.pop(process, None)
        return code

    def stopped(self, thread, status):
        number, event = os.WSTOPSIG(status), status >> 16
        process = self.owner.get(thread)
        if process is None:
            # A child's first stop may come before its parent's event.
            process = self.adopt(thread)
        if event in (FORK, VFORK, CLONE):
            message = ctypes.c_ulong()
            ptrace(GET_MESSAGE, thread, 0, ctypes.addressof(message))
            self.adopt(message.value)
        elif event == EXEC:
            self.became(thread)
            if self.programs.get(thread) is None and thread not in self.owner:
                return
        elif event == EXIT:
            threads = self.threads.get(process, set())
            threads.discard(thread)
            # The thread that ends the process; if a signal ends it, the last one.
            if process in self.programs and (not threads or self.ends_process(process, thread)):
                self.keep(process, thread, "exit")
                del self.programs[process]
        elif number == signal.SIGTRAP | 0x80:
            if process in self.programs and self.is_exec(thread):
                self.keep(process, thread, "exec")
        elif event == STOP and number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            return ptrace(LISTEN, thread)
        elif event == 0:
            return self.resume(thread, number)
        self.resume(thread)

    def adopt(self, thread):
        # A child that stopped, and perhaps ended, before its parent's event came is not followed again.
        if thread not in self.seen:
            self.seen.add(thread)
            try:
                status = pathlib.Path(f"/proc/{thread}/status").read_text()
            except OSError:
                status = f"Tgid: {thread}"
            process = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("Tgid"))
            self.owner[thread] = process
            self.threads.setdefault(process, set()).add(thread)
        return self.owner.get(thread)

    def became(self, process):
        """Another program: its other threads are gone."""
        for other in self.threads.get(process, set()) - {process}:
            self.owner.pop(other, None)
        self.threads[process] = {process}
        program = os.readlink(f"/proc/{process}/exe")
        self.programs.pop(process, None)
        if os.path.dirname(program) == self.folder:
            self.programs[process] = os.path.basename(program)
        else:
            self.threads.pop(process)
            self.owner.pop(process)
            ptrace(DETACH, process)

    def is_exec(self, thread):
        information = (ctypes.c_uint8 * 88)()
        ptrace(GET_SYSCALL, thread, len(information), ctypes.addressof(information))
        return information[0] == 1 and int.from_bytes(bytes(information[24:32]), "little") in EXECVE

    @staticmethod
    def ends_process(process, thread):
        call = pathlib.Path(f"/proc/{process}/task/{thread}/syscall").read_text().split()
        return call[0] == str(EXIT_GROUP)

    def keep(self, process, thread, moment):
        self.images.append(Image(process, thread, self.programs[process], moment))

    def resume(self, thread, number=0):
        try:
            # Only the program coffer becomes another one.
            watched = self.programs.get(self.owner.get(thread)) == "coffer"
            ptrace(SYSCALL if watched else CONTINUE, thread, 0, number)
        except ProcessLookupError:
            pass


def base64_forms(secret, encode):
    """The secret at the three places in groups of three bytes, without the characters that others share."""
    for shift in range(3):
        text = encode(bytes(shift) + secret)
        rest = (shift + len(secret)) % 3
        yield text[[0, 2, 3][shift]:len(text) - (4 if rest else 0)]


def forms(secret):
    """(name, bytes, shortest piece to report) for each way in which a secret may have been written."""
    yield "raw", secret, 8
    yield "reversed", secret[::-1], 8
    for name, encode in ("Base64", base64.b64encode), ("Base64url", base64.urlsafe_b64encode):
        for text in base64_forms(secret, encode):
            yield name, text, 12
    yield "hex", secret.hex().encode(), 16
    yield "HEX", secret.hex().upper().encode(), 16
    yield "percent", b"".join(b"%%%02X" % byte for byte in secret), 24
    yield "UTF-16", b"".join(bytes((byte, 0)) for byte in secret), 16
    yield "UTF-32", b"".join(bytes((byte, 0, 0, 0)) for byte in secret), 32


class Search:
    """A search for some secrets, by name."""

    LIMIT = 4096

    def __init__(self, library, secrets):
        self.scan = ctypes.CDLL(str(library)).memscan
        self.scan.restype = ctypes.c_long
        self.scan.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_char_p, ctypes.c_long, ctypes.c_void_p,
                              ctypes.c_void_p, ctypes.c_long]
        self.where, pieces = [], {}
        for name, secret in secrets.items():
            for form, text, shortest in forms(secret):
                for start in range(len(text) - 7):
                    piece = text[start:start + 8]
                    if len(set(piece)) > 2 and piece not in pieces:
                        pieces[piece] = (name, form, text, start, shortest)
        self.pieces = b"".join(pieces)
        self.where = list(pieces.values())

    def search(self, data):
        """(place, name, form, length) for each piece of a secret."""
        places, which = (ctypes.c_long * self.LIMIT)(), (ctypes.c_long * self.LIMIT)()
        found = self.scan(data, len(data), self.pieces, len(self.where), places, which, self.LIMIT)
        if found < 0:
            raise Failure("There is no memory for the search.")
        end = 0
        for place, index in sorted(zip(places[:min(found, self.LIMIT)], which)):
            if place < end:
                continue
            name, form, text, start, shortest = self.where[index]
            length = 8
            while start + length < len(text) and data[place + length:place + length + 1] == \
                    text[start + length:start + length + 1]:
                length += 1
            end = place + length
            if length >= shortest:
                yield place, name, form, length

    def image(self, image):
        """(name, form, length, region, address, context) for each piece of a secret in an image."""
        # One search for all regions, with a byte between them that is in no secret's form.
        data = b"\xff".join(data for *_, data in image.regions)
        starts, start = [], 0
        for *_, region in image.regions:
            starts.append(start)
            start += len(region) + 1
        for place, name, form, length in self.search(data):
            index = bisect.bisect(starts, place) - 1
            begin, rights, region, _ = image.regions[index]
            context = data[max(starts[index], place - 64):place + length + 64]
            yield name, form, length, f"{region} {rights}", begin + place - starts[index], context


def build(folder):
    """Compiles the search into a folder."""
    source = pathlib.Path(__file__).resolve().parent / "memscan.c"
    library = pathlib.Path(folder) / "memscan.so"
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o", library, source],
                   check=True, timeout=120)
    return library
