/*
 * Clones a running program with its files, and notes the pages that it writes: a library for LD_PRELOAD, used by
 * clone_matrix.py.
 *
 *     cc -O2 -fPIC -shared -o cloneshim.so cloneshim.c -ldl
 *     CL_ROOT=/files CL_LOG=/a/file CL_FORK=write:7 CL_CLONE=/copy LD_PRELOAD=./cloneshim.so program …
 *
 * Each write of 512 bytes and more to a file below CL_ROOT is appended to CL_LOG: the length of the path (4 bytes, of
 * this machine's order), the path, the length (4) and the bytes. At the write (or, with open:N, at the opening of a
 * file below CL_ROOT) of that number CL_ROOT is copied to CL_CLONE, CL_CLONE with CL_ROOT as its bytes is noted, and
 * the program forks. The child goes on with the
 * copies: as a virtual machine that was cloned with its disk, it has the memory of its parent, and is not told. Of
 * its threads there is only the one that forked; what waits for another is killed after some seconds. The parent waits
 * for it at its end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define REAL(name) (*(__typeof__(&name))real(#name))

static int opened, written, is_child;
static pid_t child;

static void *real(const char *name)
{
    void *found = dlsym(RTLD_NEXT, name);
    if (!found)
        _exit(97);
    return found;
}

static const char *setting(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int is_below(const char *path, const char *root)
{
    size_t size = root ? strlen(root) : 0;
    return root && strncmp(path, root, size) == 0 && (path[size] == '/' || !path[size]);
}

/* The path of an open file, without what the kernel adds to one that was removed. */
static int path_of(int fd, char *path)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (size < 0)
        return 0;
    path[size] = 0;
    char *end = strstr(path, " (deleted)");
    if (end)
        *end = 0;
    return 1;
}

/* Where the child finds what its parent has at `path`. */
static const char *own(const char *path, char *place)
{
    const char *root = setting("CL_ROOT"), *clone = setting("CL_CLONE");
    if (!is_child || !path || !is_below(path, root))
        return path;
    snprintf(place, PATH_MAX, "%s%s", clone, path + strlen(root));
    return place;
}

/* The copies take the places of the open files. */
static void take_copies(void)
{
    for (int fd = 0; fd < 256; fd++) {
        char path[PATH_MAX], place[PATH_MAX];
        long flags = syscall(SYS_fcntl, fd, F_GETFL);
        if (flags < 0 || !path_of(fd, path) || !is_below(path, setting("CL_ROOT")))
            continue;
        long copy = syscall(SYS_openat, AT_FDCWD, own(path, place), flags & ~(O_CREAT | O_EXCL | O_TRUNC), 0);
        if (copy < 0)
            _exit(96);
        syscall(SYS_lseek, copy, syscall(SYS_lseek, fd, 0, SEEK_CUR), SEEK_SET);
        syscall(SYS_dup3, copy, fd, O_CLOEXEC);
        syscall(SYS_close, copy);
    }
}

static void note(const char *path, const void *bytes, size_t size)
{
    const char *log = setting("CL_LOG");
    if (!log)
        return;
    unsigned sizes[2] = {(unsigned)strlen(path), (unsigned)size};
    char *record = malloc(8 + sizes[0] + size);
    if (!record)
        _exit(93);
    memcpy(record, &sizes[0], 4);
    memcpy(record + 4, path, sizes[0]);
    memcpy(record + 4 + sizes[0], &sizes[1], 4);
    memcpy(record + 8 + sizes[0], bytes, size);
    long file = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || syscall(SYS_write, file, record, 8 + sizes[0] + size) != (long)(8 + sizes[0] + size))
        _exit(92);
    syscall(SYS_close, file);
    free(record);
}

static void clone_now(void)
{
    char *arguments[] = {"cp", "-a", (char *)setting("CL_ROOT"), (char *)setting("CL_CLONE"), NULL};
    char *environment[] = {"PATH=/usr/bin:/bin", NULL};
    pid_t copier;
    int status;
    if (posix_spawnp(&copier, "cp", NULL, NULL, arguments, environment) != 0 || waitpid(copier, &status, 0) < 0 ||
        status != 0)
        _exit(95);
    note(setting("CL_CLONE"), setting("CL_ROOT"), strlen(setting("CL_ROOT")));
    child = fork();
    if (child < 0)
        _exit(94);
    if (child == 0) {
        is_child = 1;
        alarm(3);
        take_copies();
    }
}

static void count(const char *what, int *number)
{
    const char *when = setting("CL_FORK");
    size_t size = strlen(what);
    if (when && !is_child && !child && strncmp(when, what, size) == 0 && ++*number == atoi(when + size + 1))
        clone_now();
}

__attribute__((destructor)) static void wait_for_child(void)
{
    int status;
    if (child > 0)
        waitpid(child, &status, 0);
}

/* Before the write: the clone is taken where what is written was already sealed, and the next thing is not. */
static void see(int fd, const void *bytes, size_t size)
{
    char path[PATH_MAX];
    int saved = errno;
    if (size >= 512 && path_of(fd, path) &&
        (is_below(path, setting("CL_ROOT")) || is_below(path, setting("CL_CLONE")))) {
        count("write", &written);
        note(path, bytes, size);
    }
    errno = saved;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    see(fd, bytes, size);
    return REAL(pwrite)(fd, bytes, size, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    see(fd, bytes, size);
    return REAL(pwrite64)(fd, bytes, size, offset);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    see(fd, bytes, size);
    return REAL(write)(fd, bytes, size);
}

static void see_opening(int directory, const char *path)
{
    char place[PATH_MAX];
    int saved = errno;
    if (path && (path[0] == '/' ? is_below(path, setting("CL_ROOT"))
                                : path_of(directory, place) && is_below(place, setting("CL_ROOT"))))
        count("open", &opened);
    errno = saved;
}

#define MODE(flags, last)                                                                                              \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list list;                                                                                                  \
        va_start(list, last);                                                                                          \
        mode = va_arg(list, mode_t);                                                                                   \
        va_end(list);                                                                                                  \
    }

int open(const char *path, int flags, ...)
{
    char place[PATH_MAX];
    MODE(flags, flags)
    see_opening(AT_FDCWD, path);
    return REAL(open)(own(path, place), flags, mode);
}

int open64(const char *path, int flags, ...)
{
    char place[PATH_MAX];
    MODE(flags, flags)
    see_opening(AT_FDCWD, path);
    return REAL(open64)(own(path, place), flags, mode);
}

int openat(int directory, const char *path, int flags, ...)
{
    char place[PATH_MAX];
    MODE(flags, flags)
    see_opening(directory, path);
    return REAL(openat)(directory, own(path, place), flags, mode);
}

int openat64(int directory, const char *path, int flags, ...)
{
    char place[PATH_MAX];
    MODE(flags, flags)
    see_opening(directory, path);
    return REAL(openat64)(directory, own(path, place), flags, mode);
}

int access(const char *path, int mode)
{
    char place[PATH_MAX];
    return REAL(access)(own(path, place), mode);
}

int unlink(const char *path)
{
    char place[PATH_MAX];
    return REAL(unlink)(own(path, place));
}

/* Of a journal alone: SQLite looks whether a database is still the file that it opened, by its number. */
static const char *journal(const char *path, char *place)
{
    size_t size = path ? strlen(path) : 0;
    return size > 8 && strcmp(path + size - 8, "-journal") == 0 ? own(path, place) : path;
}

int stat(const char *path, struct stat *status)
{
    char place[PATH_MAX];
    return REAL(stat)(journal(path, place), status);
}

int stat64(const char *path, struct stat64 *status)
{
    char place[PATH_MAX];
    return REAL(stat64)(journal(path, place), status);
}

int chmod(const char *path, mode_t mode)
{
    char place[PATH_MAX];
    return REAL(chmod)(own(path, place), mode);
}
