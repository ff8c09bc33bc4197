/*
 * Runs a program and kills it with SIGKILL at its n-th system call, which is then not carried out. The calls
 * of all threads, and of the program that it becomes by exec, count together; the loader's count, too.
 *
 *     cc -O2 -o killat killat.c
 *     killat [-c] [-w FOLDER] N FILE program …
 *
 * With N = 0 nothing is killed. FILE gets a line for each call: its number in the kernel's table, and a star
 * if the call may change something that outlives the process or is seen by another one. With -c, N counts
 * only these calls. Two kills between which there is none of them leave the same world, so N = 1, 2, … until
 * the program ends by itself has every world that a kill can leave. With -w, every file in FOLDER is read at each
 * call, and the program is killed with the exit code 70 if one has changed although no marked call ran:
 * the stars are complete.
 *
 * The exit code is the program's, or 137 when it was killed. Unlike faultshim.c, this sees every system call,
 * also if it is made without the C library; it needs the right to trace (ptrace), and Linux on x86-64 for -c
 * and -w.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_THREADS = 512 };
static pid_t known[MOST_THREADS];
/* The thread is in a marked call. */
static char is_inside[MOST_THREADS];

/* Whether a thread was seen before; from now on it was. */
static int is_known(pid_t thread)
{
    for (int i = 0; i < MOST_THREADS; i++) {
        if (known[i] == thread)
            return 1;
        if (known[i] == 0) {
            known[i] = thread;
            is_inside[i] = 0;
            return 0;
        }
    }
    return 1;
}

static void forget(pid_t thread)
{
    for (int i = 0; i < MOST_THREADS; i++)
        if (known[i] == thread)
            known[i] = -1;
}

static void set_inside(pid_t thread, char value)
{
    for (int i = 0; i < MOST_THREADS; i++)
        if (known[i] == thread)
            is_inside[i] = value;
}

static int is_any_inside(void)
{
    for (int i = 0; i < MOST_THREADS; i++)
        if (known[i] > 0 && is_inside[i])
            return 1;
    return 0;
}

/* Whether a descriptor is a file or a folder on a disk, a pipe or one of the kernel's own objects, so that
   reading and closing it changes nothing. What cannot be told is a socket. */
static int is_quiet_descriptor(pid_t thread, uint64_t descriptor)
{
    char place[64], target[256];
    snprintf(place, sizeof place, "/proc/%d/fd/%d", thread, (int)descriptor);
    const ssize_t count = readlink(place, target, sizeof target - 1);
    if (count <= 0)
        return errno == ENOENT; /* an invalid one: the call fails */
    target[count] = 0;
    return strncmp(target, "socket:", 7) != 0;
}

/* Calls that change nothing but the process itself: its memory, threads, signals, descriptors and locks,
   which end with it; and calls that only ask. Every call that is not here gets a star. */
static int is_own_affair(uint64_t call)
{
    switch (call) {
    case SYS_stat: case SYS_fstat: case SYS_lstat: case SYS_newfstatat: case SYS_statx: case SYS_statfs:
    case SYS_fstatfs: case SYS_access: case SYS_faccessat: case SYS_faccessat2: case SYS_readlink:
    case SYS_readlinkat: case SYS_getcwd: case SYS_getdents64: case SYS_lseek: case SYS_pread64:
    case SYS_preadv: case SYS_fadvise64: case SYS_getxattr: case SYS_fgetxattr: case SYS_lgetxattr:
    case SYS_flock:
    case SYS_poll: case SYS_ppoll: case SYS_select: case SYS_pselect6: case SYS_epoll_create1:
    case SYS_epoll_ctl: case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_eventfd2: case SYS_timerfd_create:
    case SYS_timerfd_settime: case SYS_signalfd4: case SYS_inotify_init1: case SYS_inotify_add_watch:
    case SYS_pipe2: case SYS_dup: case SYS_dup2: case SYS_dup3: case SYS_socket: case SYS_socketpair:
    case SYS_getsockopt: case SYS_setsockopt: case SYS_getsockname: case SYS_getpeername:
    case SYS_memfd_create: case SYS_munmap: case SYS_mprotect: case SYS_brk: case SYS_madvise:
    case SYS_mremap: case SYS_mlock:
    case SYS_mlock2: case SYS_munlock: case SYS_mlockall: case SYS_munlockall: case SYS_mincore:
    case SYS_pkey_alloc: case SYS_pkey_free: case SYS_pkey_mprotect: case SYS_membarrier:
    case SYS_clone: case SYS_clone3: case SYS_fork: case SYS_vfork: case SYS_execve: case SYS_wait4:
    case SYS_waitid: case SYS_exit: case SYS_exit_group: case SYS_set_tid_address: case SYS_set_robust_list:
    case SYS_get_robust_list: case SYS_rseq: case SYS_futex: case SYS_arch_prctl: case SYS_prctl:
    case SYS_gettid: case SYS_getpid: case SYS_getppid: case SYS_getpgrp: case SYS_getpgid: case SYS_getsid:
    case SYS_getuid: case SYS_geteuid: case SYS_getgid: case SYS_getegid: case SYS_getresuid:
    case SYS_getresgid: case SYS_getgroups: case SYS_capget: case SYS_getrlimit: case SYS_setrlimit:
    case SYS_prlimit64: case SYS_getrusage: case SYS_times: case SYS_uname: case SYS_sysinfo:
    case SYS_umask: case SYS_sched_yield: case SYS_sched_getaffinity: case SYS_sched_setaffinity:
    case SYS_sched_getparam: case SYS_sched_getscheduler: case SYS_sched_get_priority_max:
    case SYS_sched_get_priority_min: case SYS_sched_getattr: case SYS_getpriority: case SYS_getcpu:
    case SYS_getrandom: case SYS_time: case SYS_gettimeofday: case SYS_clock_gettime: case SYS_clock_getres:
    case SYS_nanosleep: case SYS_clock_nanosleep: case SYS_restart_syscall: case SYS_rt_sigaction:
    case SYS_rt_sigprocmask: case SYS_rt_sigreturn: case SYS_rt_sigtimedwait: case SYS_sigaltstack:
        return 1;
    default:
        return 0;
    }
}

/* Whether a call gets a star. */
static int may_change(pid_t thread, const struct __ptrace_syscall_info *info)
{
    const uint64_t *words = info->entry.args;
    switch (info->entry.nr) {
    case SYS_open:
        return (words[1] & (O_CREAT | O_TRUNC)) != 0;
    case SYS_openat:
        return (words[2] & (O_CREAT | O_TRUNC)) != 0 || (words[2] & O_TMPFILE) == O_TMPFILE;
    case SYS_read: case SYS_readv: case SYS_close:
        return !is_quiet_descriptor(thread, words[0]);
    case SYS_ioctl:
        return words[1] != TCGETS && words[1] != TIOCGWINSZ && words[1] != FIONREAD && words[1] != FIONBIO;
    case SYS_fcntl: /* flags and locks */
        switch (words[1]) {
        case F_DUPFD: case F_DUPFD_CLOEXEC: case F_GETFD: case F_SETFD: case F_GETFL: case F_SETFL:
        case F_GETLK: case F_SETLK: case F_SETLKW: case F_OFD_GETLK: case F_OFD_SETLK: case F_OFD_SETLKW:
        case F_GET_SEALS:
            return 0;
        default:
            return 1;
        }
    case SYS_mmap: /* what is written through a shared mapping cannot be seen: -w would find it */
        return (words[3] & MAP_SHARED) != 0 && (words[3] & MAP_ANONYMOUS) == 0
            && (words[2] & PROT_WRITE) != 0;
    case SYS_tgkill: case SYS_tkill: case SYS_kill: /* a signal to itself */
        return known[0] != (pid_t)words[0];
    default:
        return !is_own_affair(info->entry.nr);
    }
}

static uint64_t digest;

static void mix(const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        digest = (digest ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
}

static int add_file(const char *path, const struct stat *facts, int kind, struct FTW *place)
{
    (void)place;
    mix(path, strlen(path) + 1);
    mix(&facts->st_mode, sizeof facts->st_mode);
    if (kind != FTW_F)
        return 0;
    mix(&facts->st_ino, sizeof facts->st_ino);
    static char bytes[1 << 16];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count;
    while (file >= 0 && (count = read(file, bytes, sizeof bytes)) > 0)
        mix(bytes, (size_t)count);
    if (file >= 0)
        close(file);
    return 0;
}

/* A digest of every name, mode and byte in a folder. */
static uint64_t digest_of(const char *folder)
{
    digest = 14695981039346656037u;
    nftw(folder, add_file, 16, FTW_PHYS);
    return digest;
}

static pid_t process_of(pid_t thread)
{
    char path[64], line[128];
    int process = thread;
    snprintf(path, sizeof path, "/proc/%d/status", thread);
    FILE *status = fopen(path, "re");
    if (!status)
        return thread;
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "Tgid: %d", &process) == 1)
            break;
    fclose(status);
    return process;
}

int main(int count, char **words)
{
    int is_counting_stars = 0, option;
    const char *watched = NULL;
    while ((option = getopt(count, words, "+cw:")) != -1) {
        if (option == 'c')
            is_counting_stars = 1;
        else if (option == 'w')
            watched = optarg;
        else
            return 64;
    }
    words += optind - 1;
    if (count - optind < 3) {
        fprintf(stderr, "usage: killat [-c] [-w FOLDER] N FILE program ...\n");
        return 64;
    }
    const long at = strtol(words[1], NULL, 10);
    FILE *calls = fopen(words[2], "we");
    if (!calls) {
        perror(words[2]);
        return 70;
    }
    const pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        raise(SIGSTOP);
        execv(words[3], words + 3);
        perror(words[3]);
        _exit(70);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
        perror("killat: fork");
        return 70;
    }
    is_known(child);
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK
        | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, child, NULL, options) != 0
        || ptrace(PTRACE_SYSCALL, child, NULL, 0L) != 0) {
        perror("killat: ptrace");
        kill(child, SIGKILL);
        return 70;
    }
    long number = 0;
    int had_star = 0;
    uint64_t before = watched ? digest_of(watched) : 0;
    for (;;) {
        const pid_t thread = waitpid(-1, &status, __WALL);
        if (thread < 0) {
            if (errno == EINTR)
                continue;
            perror("killat: waitpid");
            return 70;
        }
        if (!WIFSTOPPED(status)) {
            forget(thread);
            if (thread != child)
                continue;
            fclose(calls);
            return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        }
        long given = 0;
        const int why = WSTOPSIG(status), event = status >> 16;
        if (why == (SIGTRAP | 0x80)) {
            struct __ptrace_syscall_info info;
            memset(&info, 0, sizeof info);
            ptrace(PTRACE_GET_SYSCALL_INFO, thread, (void *)sizeof info, &info);
            if (watched) {
                const uint64_t now = digest_of(watched);
                if (now != before && !had_star && !is_any_inside()) {
                    fprintf(stderr, "killat: a file changed before call %ld by no marked call\n", number);
                    kill(child, SIGKILL);
                    return 70;
                }
                before = now;
                had_star = 0;
            }
            if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
                const int star = may_change(thread, &info);
                fprintf(calls, "%llu%s\n", (unsigned long long)info.entry.nr, star ? " *" : "");
                is_known(thread);
                if ((star || !is_counting_stars) && ++number == at) {
                    kill(process_of(thread), SIGKILL);
                    continue;
                }
                set_inside(thread, (char)star);
            } else {
                set_inside(thread, 0);
            }
            /* Another thread may go on in its call while this one is looked at. */
            had_star = is_any_inside();
        } else if (event == 0 && (is_known(thread) || why != SIGSTOP)) {
            given = why; /* the program's own signal; a new thread begins with a SIGSTOP of the kernel's */
        }
        ptrace(PTRACE_SYSCALL, thread, NULL, given);
    }
}
