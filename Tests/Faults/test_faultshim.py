#!/usr/bin/env python3
"""Tests the fault shim on a toy that replaces a file atomically: test_faultshim.py [-v]"""

import os
import signal
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
OLD, NEW = b"old " * 250, b"new " * 250

# replace DIR: writes NEW to a temporary file and renames it, retrying what may be retried, as a careful program does.
# calls DIR: makes every watched call once, in a known order.
TOY = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/fs.h>

static char text[1000];
#define AGAIN(call) ({ long r; do r = (call); while (r == -1 && errno == EINTR); r; })

static int replace(int dir)
{
    for (int i = 0; i < 1000; i += 4)
        memcpy(text + i, "new ", 4);
    int fd = AGAIN(openat(dir, "t.tmp", O_CREAT | O_EXCL | O_WRONLY, 0600));
    if (fd < 0)
        return 10;
    int bad = 0;
    for (size_t done = 0; done < sizeof text && !bad;) {
        ssize_t n = AGAIN(write(fd, text + done, sizeof text - done));
        bad = n <= 0;
        done += n > 0 ? n : 0;
    }
    if (bad || AGAIN(fsync(fd)) || AGAIN(syscall(SYS_renameat2, dir, "t.tmp", dir, "target", 0)))
        return unlinkat(dir, "t.tmp", 0), 11;
    return AGAIN(fsync(dir)) ? 12 : 0;
}

static void calls(int dir)
{
    char bytes[] = "0123456789";
    struct iovec two[2] = {{bytes, 4}, {bytes + 4, 6}};
    int fd = open("a", O_CREAT | O_RDWR, 0600);
    write(fd, bytes, 10); pwrite(fd, bytes, 10, 0); pwrite64(fd, bytes, 10, 0); pwritev(fd, two, 2, 0);
    writev(fd, two, 2); fsync(fd); fdatasync(fd); ftruncate(fd, 5); ftruncate64(fd, 5);
    errno = 0;
    int allocated = posix_fallocate(fd, 0, 100);
    printf("fallocate %d errno %d\n", allocated, errno);
    fflush(stdout);
    close(openat(dir, "b", O_CREAT | O_RDWR, 0600)); close(openat64(dir, "b", O_CREAT | O_RDWR, 0600));
    mkdirat(dir, "d", 0700); link("b", "c"); rename("c", "e"); renameat(dir, "e", dir, "f");
    renameat2(dir, "f", dir, "g", 0); syscall(SYS_renameat2, dir, "g", dir, "h", RENAME_NOREPLACE);
    unlink("h"); unlinkat(dir, "d", AT_REMOVEDIR);
    close(open("/dev/null", O_RDONLY)); read(fd, bytes, 1); close(open("b", O_RDONLY)); syscall(SYS_getppid);
    printf("read %d\n", (int)pread(fd, bytes, 4, 0));
}

static void *creations(void *dir)
{
    for (int i = 0; i < 50; i++)
        close(openat((int)(long)dir, "shared", O_CREAT | O_RDWR, 0600));
    return 0;
}

int main(int count, char **words)
{
    prctl(PR_SET_DUMPABLE, 0);
    chdir(words[2]);
    int dir = open(".", O_RDONLY | O_DIRECTORY);
    if (words[1][0] == 'r')
        return replace(dir);
    if (words[1][0] == 't') {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], 0, creations, (void *)(long)dir);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], 0);
    } else
        calls(dir);
    return 0;
}
"""
EVERY_CALL = (
    "open write pwrite pwrite pwritev writev fsync fdatasync ftruncate ftruncate posix_fallocate openat openat "
    "mkdirat link rename renameat renameat2 renameat2 unlink unlinkat").split()


class Shim(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.root = os.path.realpath(folder.name)
        cls.shim, cls.toy = os.path.join(cls.root, "faultshim.so"), os.path.join(cls.root, "toy")
        strict = ["cc", "-O2", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([*strict, "-fPIC", "-shared", "-o", cls.shim, os.path.join(HERE, "faultshim.c"), "-ldl"],
                       check=True)
        subprocess.run(["cc", "-w", "-pthread", "-x", "c", "-o", cls.toy, "-"], input=TOY.encode(), check=True)

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=self.root)
        self.log = self.folder + ".log"
        with open(os.path.join(self.folder, "target"), "wb") as stream:
            stream.write(OLD)

    def run_toy(self, what="replace", prefix=None, **plan):
        variables = {"FI_" + name.upper(): str(value) for name, value in plan.items()}
        environment = {**os.environ, "LD_PRELOAD": self.shim, "FI_PREFIX": prefix or self.folder,
                       "FI_LOG": self.log, **variables}
        return subprocess.run([self.toy, what, self.folder], env=environment, capture_output=True, timeout=20)

    def logged(self):
        with open(self.log) as stream:
            return [line.split() for line in stream.read().splitlines()]

    def content(self):
        with open(os.path.join(self.folder, "target"), "rb") as stream:
            return stream.read()

    def test_the_points_of_an_atomic_replace(self):
        self.assertEqual(self.run_toy().returncode, 0)
        self.assertEqual([line[:2] for line in self.logged()],
                         [["1", "openat"], ["2", "write"], ["3", "fsync"], ["4", "renameat2"], ["5", "fsync"]])
        self.assertEqual([os.path.relpath(line[2], self.folder) for line in self.logged()],
                         ["t.tmp", "t.tmp", "t.tmp", "target", "."])
        self.assertEqual(self.content(), NEW)

    def test_old_or_new(self):
        # point by point: what the toy's end must be, and what the file must hold
        killed, torn = -signal.SIGKILL, {0: 0, 2: 500}
        for point in range(1, 7):
            after = point > 4
            for action in ("kill", "killafter", "torn", "short", "EIO", "ENOSPC", "EINTR"):
                with self.subTest(point=point, action=action):
                    self.setUp()
                    code = self.run_toy(at=point, act=action).returncode
                    if point == 6 or action in ("short", "EINTR"):
                        self.assertEqual((code, self.content()), (0, NEW))
                    elif action in ("kill", "killafter", "torn"):
                        self.assertEqual(code, killed)
                        done = after or (action == "killafter" and point == 4)
                        self.assertEqual(self.content(), NEW if done else OLD)
                        if action == "torn" and point in torn:
                            self.assertEqual(os.path.getsize(os.path.join(self.folder, "t.tmp")), torn[point])
                    else:
                        self.assertEqual(code, {1: 10, 5: 12}.get(point, 11))
                        self.assertEqual(self.content(), NEW if after else OLD)
                        self.assertEqual(os.listdir(self.folder), ["target"])

    def test_split_sticky_and_times(self):
        for split, size in ((10, 100), (90, 900), (0, 1), (100, 999)):
            self.setUp()
            self.run_toy(at=2, act="torn", split=split)
            self.assertEqual(os.path.getsize(os.path.join(self.folder, "t.tmp")), size)
        self.setUp()
        self.assertEqual(self.run_toy(at=2, act="EIO", sticky=1).returncode, 11)
        self.assertEqual(sorted(os.listdir(self.folder)), ["t.tmp", "target"])  # its unlinkat failed as well
        self.setUp()
        self.assertEqual(self.run_toy(at=1, act="EINTR", times=3).returncode, 0)
        self.assertEqual([line[1] for line in self.logged()][:5], ["openat"] * 4 + ["write"])

    def test_every_call_is_seen_once(self):
        done = self.run_toy("calls")
        names = [name.removesuffix("64") for _, name, *_ in self.logged()]
        self.assertEqual(names, EVERY_CALL)
        self.assertEqual([int(line[0]) for line in self.logged()], list(range(1, len(EVERY_CALL) + 1)))
        self.assertTrue(all(line[2].startswith(self.folder) for line in self.logged()))
        self.assertEqual(done.stdout, b"fallocate 0 errno 0\nread 4\n")

    def test_reads_count_when_they_are_asked_for(self):
        last = len(EVERY_CALL) + 1
        self.assertIn(b"read 4\n", self.run_toy("calls", reads=1).stdout)
        self.assertEqual(self.logged()[-1][:2], [str(last), "pread"])
        self.assertIn(b"read -1\n", self.run_toy("calls", reads=1, at=last, act="EIO").stdout)
        self.assertIn(b"read 2\n", self.run_toy("calls", reads=1, at=last, act="short").stdout)

    def test_fallocate_returns_its_error(self):
        self.assertEqual(self.run_toy("calls", at=11, act="ENOSPC").stdout,
                         b"fallocate 28 errno 0\nread 4\n")

    def test_prefixes(self):
        self.run_toy(prefix="/nowhere:" + self.folder + "/:/elsewhere")
        self.assertEqual(len(self.logged()), 5)
        for prefix in (self.folder[:-1], self.folder + "/t.tm", "/nowhere:"):
            self.setUp()
            self.run_toy(prefix=prefix, at=1, act="kill")
            self.assertEqual((os.path.exists(self.log), self.content()), (False, NEW))

    def test_threads_count_together(self):
        self.assertEqual(self.run_toy("threads").returncode, 0)
        self.assertEqual(sorted(int(line[0]) for line in self.logged()), list(range(1, 201)))

    def test_log_to_a_descriptor(self):
        reading, writing = os.pipe()
        environment = {**os.environ, "LD_PRELOAD": self.shim, "FI_PREFIX": self.folder, "FI_LOG": str(writing)}
        subprocess.run([self.toy, "replace", self.folder], env=environment, pass_fds=(writing,), timeout=20)
        os.close(writing)
        with os.fdopen(reading) as stream:
            self.assertEqual(len(stream.readlines()), 5)

    def test_a_plan_that_makes_no_sense_is_refused(self):
        for plan in ({"act": "explode"}, {"at": 0}):
            self.assertEqual(self.run_toy(**plan).returncode, 97)


if __name__ == "__main__":
    unittest.main()
