/*
 * Faults on demand: a library for LD_PRELOAD that numbers the calls by which a program changes files, and makes
 * the call with a chosen number fail, stop half way, or be the last thing the program does. Reads pass untouched
 * unless they are asked for.
 *
 *     cc -O2 -fPIC -shared -o faultshim.so faultshim.c -ldl
 *     FI_PREFIX=/home/of/the/store FI_AT=3 FI_ACT=kill LD_PRELOAD=./faultshim.so program …
 *
 * FI_PREFIX   paths to watch, separated by ':', without symbolic links; calls elsewhere are not counted
 * FI_AT       number of the call to hit, from 1 on; all threads of the process count together
 * FI_ACT      log        only count (also the default)
 *             kill       SIGKILL instead of the call
 *             killafter  SIGKILL when the call has been done
 *             torn       a write: only its first part, then SIGKILL; any other call: as kill
 *             short      a write: only its first part, and say so; any other call: nothing happens
 *             EIO, ENOSPC, EINTR, EROFS: the call is not done and fails with this error
 * FI_STICKY   1: every call from FI_AT on is hit
 * FI_TIMES    so many calls from FI_AT on are hit (1)
 * FI_SPLIT    how much of a write its first part is, in per cent (50)
 * FI_READS    1: pread is counted and hit as well
 * FI_LOG      a descriptor's number or a file's path: gets a line "n name path" for each call counted
 *
 * What is seen: calls through the C library, and renameat2 through syscall(). Other raw system calls, statically
 * linked programs and writes through a mapping are not seen. A program started by the program counts from 1 again.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE /* the header's inline open() would stand in the way of ours */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The calls that are watched. real_NAME is the C library's own. */
#define CALLS(X) \
    X(write) X(pwrite) X(writev) X(pwritev) X(fsync) X(fdatasync) X(ftruncate) X(posix_fallocate) \
    X(open) X(openat) X(mkdir) X(mkdirat) X(link) X(linkat) X(rename) X(renameat) X(renameat2) \
    X(unlink) X(unlinkat) X(rmdir) X(pread) X(syscall)
#define DECLARE(name) static __typeof__(name) *real_##name;
CALLS(DECLARE)

enum action { LOG, KILL, KILL_AFTER, TORN, SHORT, FAIL };
enum { PATH_ROOM = 2 * PATH_MAX };

static struct {
    const char *prefixes, *log_path;
    int log_descriptor, error, reads;
    long at, last, percent;
    enum action action;
} plan;
static atomic_long counter;

static void complain(const char *what)
{
    fprintf(stderr, "faultshim: %s\n", what);
    _exit(97);
}

static long number(const char *name, long otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtol(text, NULL, 10) : otherwise;
}

static void read_action(const char *text)
{
    static const struct { const char *name; enum action action; int error; } known[] = {
        {"log", LOG, 0}, {"kill", KILL, 0}, {"killafter", KILL_AFTER, 0}, {"torn", TORN, 0}, {"short", SHORT, 0},
        {"EIO", FAIL, EIO}, {"ENOSPC", FAIL, ENOSPC}, {"EINTR", FAIL, EINTR}, {"EROFS", FAIL, EROFS}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(text, known[i].name) == 0) {
            plan.action = known[i].action;
            plan.error = known[i].error;
            return;
        }
    complain("unknown FI_ACT");
}

/* Runs before main; also from the first watched call, if another library's constructor makes one before that. */
__attribute__((constructor)) static void prepare(void)
{
    if (real_syscall)
        return;
#define LOOK_UP(name) *(void **)&real_##name = dlsym(RTLD_NEXT, #name);
    CALLS(LOOK_UP)
    plan.prefixes = getenv("FI_PREFIX");
    plan.at = number("FI_AT", LONG_MAX);
    plan.percent = number("FI_SPLIT", 50);
    plan.reads = number("FI_READS", 0) != 0;
    plan.last = number("FI_STICKY", 0) ? LONG_MAX : plan.at - 1 + number("FI_TIMES", 1);
    if (plan.at < 1)
        complain("FI_AT counts from 1");
    read_action(getenv("FI_ACT") ? getenv("FI_ACT") : "log");
    const char *log = getenv("FI_LOG");
    plan.log_descriptor = -1;
    if (log && *log && log[strspn(log, "0123456789")] == 0)
        plan.log_descriptor = (int)strtol(log, NULL, 10);
    else if (log && *log)
        plan.log_path = log;
}

/* From here on, in whatever thread or signal handler we are: system calls and the stack, nothing else. */

static void die(void)
{
    for (;;)
        real_syscall(SYS_kill, real_syscall(SYS_getpid), SIGKILL);
}

static char *append(char *to, const char *end, const char *text)
{
    while (*text && to < end)
        *to++ = *text++;
    *to = 0;
    return to;
}

static char *append_number(char *to, const char *end, long value)
{
    char digits[24], *digit = digits + sizeof digits;
    for (*--digit = 0; value > 9; value /= 10)
        *--digit = (char)('0' + value % 10);
    *--digit = (char)('0' + value);
    return append(to, end, digit);
}

/* The absolute path of a descriptor (path NULL), or of a path relative to a directory's descriptor. */
static void locate(char *out, int descriptor, const char *path)
{
    char *to = out, *end = out + PATH_ROOM - 1, link[48], *link_end = link + sizeof link - 1;
    if (!path || path[0] != '/') {
        if (descriptor == AT_FDCWD)
            append(link, link_end, "/proc/self/cwd");
        else
            append_number(append(link, link_end, "/proc/self/fd/"), link_end, descriptor);
        long count = real_syscall(SYS_readlinkat, AT_FDCWD, link, out, PATH_MAX);
        to += count > 0 ? count : 0;
        *to = 0;
        if (path)
            to = append(to, end, "/");
    }
    if (path)
        append(to, end, path);
}

static int watched(const char *path)
{
    for (const char *prefix = plan.prefixes; prefix && *prefix;) {
        size_t length = strcspn(prefix, ":"), plain = length;
        while (plain > 1 && prefix[plain - 1] == '/')
            plain--;
        if (plain && strncmp(path, prefix, plain) == 0 && (path[plain] == '/' || path[plain] == 0))
            return 1;
        prefix += length + (prefix[length] == ':');
    }
    return 0;
}

static void write_log(long count, const char *name, const char *path)
{
    char line[PATH_ROOM + 64], *end = line + sizeof line - 2;
    char *to = append(append(append_number(line, end, count), end, " "), end, name);
    to = append(append(append(to, end, " "), end, path), end + 1, "\n");
    int descriptor = plan.log_descriptor;
    const int how = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC;
    if (plan.log_path) /* opened anew each time: the program may close descriptors it does not know */
        descriptor = (int)real_syscall(SYS_openat, AT_FDCWD, plan.log_path, how, 0600);
    if (descriptor >= 0)
        real_syscall(SYS_write, descriptor, line, (size_t)(to - line));
    if (plan.log_path && descriptor >= 0)
        real_syscall(SYS_close, descriptor);
}

/*
 * Counts a call if it is watched, and says what is to become of it. A call with two paths gives both, the new name
 * first, and is watched if one of them is.
 */
static enum action judge(const char *name, int descriptor, const char *path, int other, const char *other_path)
{
    char where[PATH_ROOM];
    int saved = errno;
    enum action verdict = LOG;
    if (!real_syscall)
        prepare();
    locate(where, descriptor, path);
    int counts = watched(where);
    if (!counts && other_path) {
        locate(where, other, other_path);
        counts = watched(where);
    }
    if (counts) {
        long count = atomic_fetch_add(&counter, 1) + 1;
        write_log(count, name, where);
        if (count >= plan.at && count <= plan.last)
            verdict = plan.action;
    }
    errno = saved;
    return verdict;
}

/* What a call works on: a descriptor, a path in a directory, or two of those. */
#define FD(fd) fd, NULL, -1, NULL
#define IN(directory, path) directory, path, -1, NULL
#define HERE(path) IN(AT_FDCWD, path)

/* Before the call: death, or true if it is to fail. After it: death, or nothing. */
static int stopped(enum action ruling)
{
    if (ruling == KILL || ruling == TORN)
        die();
    return ruling == FAIL;
}

static int failure(void)
{
    errno = plan.error;
    return -1;
}

static void finish(enum action ruling)
{
    if (ruling == KILL_AFTER || ruling == TORN)
        die();
}

/* How much of a write of `whole` bytes is done: all, or at least one byte and at least one too few. */
static size_t part_of(size_t whole, enum action ruling)
{
    if (whole < 2 || (ruling != TORN && ruling != SHORT))
        return whole;
    size_t part = whole / 100 * (size_t)plan.percent + whole % 100 * (size_t)plan.percent / 100;
    return part < 1 ? 1 : part >= whole ? whole - 1 : part;
}

/* The body of a call that is done whole or not at all; `failed` is its value when it fails. */
#define AROUND(type, verdict, failed, call) \
    enum action ruling = (verdict); \
    if (stopped(ruling)) \
        return failed; \
    type value = call; \
    finish(ruling); \
    return value
#define WHOLE(name, where, call) AROUND(int, judge(name, where), failure(), call)

/* The body of a write: `call` writes `part` bytes. One that cannot be cut is not torn but killed. */
#define WRITE(name, whole, call) \
    enum action ruling = judge(name, FD(fd)); \
    size_t part = part_of(whole, ruling); \
    if (stopped(ruling == TORN && part < (whole) ? LOG : ruling)) \
        return failure(); \
    ssize_t value = call; \
    finish(ruling); \
    return value

/* The same with a list of parts; when it is cut, then within the first. */
#define WRITE_LIST(name, ...) \
    size_t whole = n > 0 ? v[0].iov_len : 0; \
    struct iovec first = {whole ? v[0].iov_base : NULL, 0}; \
    WRITE(#name, whole, part == whole ? real_##name(fd, v, n __VA_ARGS__) \
                                      : (first.iov_len = part, real_##name(fd, &first, 1 __VA_ARGS__)))

/* Opening is watched when it may create a file; only then is there a mode. */
#define OPENING(name, where, ...) \
    int creates = (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE; \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = creates ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    if (!real_syscall) \
        prepare(); \
    AROUND(int, creates ? judge(#name, where) : LOG, failure(), real_##name(__VA_ARGS__, flags, mode))

/* In what follows: fd descriptor, b bytes, n size or number of parts, v list of parts, o offset, p path. */

ssize_t write(int fd, const void *b, size_t n) { WRITE("write", n, real_write(fd, b, part)); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) { WRITE("pwrite", n, real_pwrite(fd, b, part, o)); }
ssize_t writev(int fd, const struct iovec *v, int n) { WRITE_LIST(writev, ); }
ssize_t pwritev(int fd, const struct iovec *v, int n, off_t o) { WRITE_LIST(pwritev, , o); }

/* A read that is cut gives its first part, as a signal or a failing disk may. */
ssize_t pread(int fd, void *b, size_t n, off_t o)
{
    if (!real_syscall)
        prepare();
    if (!plan.reads)
        return real_pread(fd, b, n, o);
    WRITE("pread", n, real_pread(fd, b, part, o));
}

int fsync(int fd) { WHOLE("fsync", FD(fd), real_fsync(fd)); }
int fdatasync(int fd) { WHOLE("fdatasync", FD(fd), real_fdatasync(fd)); }
int ftruncate(int fd, off_t n) { WHOLE("ftruncate", FD(fd), real_ftruncate(fd, n)); }

/* Returns its error and leaves errno alone. */
int posix_fallocate(int fd, off_t o, off_t n)
{ AROUND(int, judge("posix_fallocate", FD(fd)), plan.error, real_posix_fallocate(fd, o, n)); }

int open(const char *p, int flags, ...) { OPENING(open, HERE(p), p); }
int openat(int fd, const char *p, int flags, ...) { OPENING(openat, IN(fd, p), fd, p); }

int mkdir(const char *p, mode_t mode) { WHOLE("mkdir", HERE(p), real_mkdir(p, mode)); }
int mkdirat(int fd, const char *p, mode_t mode) { WHOLE("mkdirat", IN(fd, p), real_mkdirat(fd, p, mode)); }
int rmdir(const char *p) { WHOLE("rmdir", HERE(p), real_rmdir(p)); }
int unlink(const char *p) { WHOLE("unlink", HERE(p), real_unlink(p)); }
int unlinkat(int fd, const char *p, int flags) { WHOLE("unlinkat", IN(fd, p), real_unlinkat(fd, p, flags)); }

#define TWO(fd2, p2, fd, p) fd2, p2, fd, p
int link(const char *p, const char *p2) { WHOLE("link", TWO(AT_FDCWD, p2, AT_FDCWD, p), real_link(p, p2)); }
int linkat(int fd, const char *p, int fd2, const char *p2, int flags)
{ WHOLE("linkat", TWO(fd2, p2, fd, p), real_linkat(fd, p, fd2, p2, flags)); }
int rename(const char *p, const char *p2) { WHOLE("rename", TWO(AT_FDCWD, p2, AT_FDCWD, p), real_rename(p, p2)); }
int renameat(int fd, const char *p, int fd2, const char *p2)
{ WHOLE("renameat", TWO(fd2, p2, fd, p), real_renameat(fd, p, fd2, p2)); }
int renameat2(int fd, const char *p, int fd2, const char *p2, unsigned flags)
{ WHOLE("renameat2", TWO(fd2, p2, fd, p), real_renameat2(fd, p, fd2, p2, flags)); }

/* Offsets have 64 bits everywhere we run, and the names that say so mean the same functions. */
_Static_assert(sizeof(off_t) == 8, "for 64-bit systems");
#define SAME(name64, name) extern __typeof__(name64) name64 __attribute__((alias(#name)));
SAME(pread64, pread) SAME(pwrite64, pwrite) SAME(pwritev64, pwritev) SAME(ftruncate64, ftruncate)
SAME(open64, open) SAME(openat64, openat) SAME(posix_fallocate64, posix_fallocate)

/* The raw way to renameat2; every other number goes on as it came. */
long syscall(long number, ...)
{
    long a[6];
    va_list more;
    va_start(more, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(more, long);
    va_end(more);
    if (!real_syscall)
        prepare();
    if (number != SYS_renameat2)
        return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    AROUND(long, judge("renameat2", TWO((int)a[2], (char *)a[3], (int)a[0], (char *)a[1])), failure(),
           real_syscall(number, a[0], a[1], a[2], a[3], a[4]));
}
