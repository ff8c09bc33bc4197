/*
 * Runs a program and kills it with SIGKILL at its n-th system call, which is then not carried out. The calls
 * of all threads, and of the program that it becomes by exec, count together; the loader's count, too.
 *
 *     cc -O2 -o killat killat.c
 *     killat N FILE program …
 *
 * With N = 0 nothing is killed. FILE gets a line for each call: its number in the kernel's table. The exit
 * code is the program's, or 137 when it was killed. Unlike faultshim.c, this sees every system call, also if
 * it is made without the C library; it needs the right to trace (ptrace).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_THREADS = 512 };
static pid_t known[MOST_THREADS];

/* Whether a thread was seen before; from now on it was. */
static int is_known(pid_t thread)
{
    for (int i = 0; i < MOST_THREADS; i++) {
        if (known[i] == thread)
            return 1;
        if (known[i] == 0) {
            known[i] = thread;
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
    if (count < 4) {
        fprintf(stderr, "usage: killat N FILE program ...\n");
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
            if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
                fprintf(calls, "%llu\n", (unsigned long long)info.entry.nr);
                if (++number == at) {
                    kill(process_of(thread), SIGKILL);
                    continue;
                }
            }
        } else if (event == 0 && (is_known(thread) || why != SIGSTOP)) {
            given = why; /* the program's own signal; a new thread begins with a SIGSTOP of the kernel's */
        }
        ptrace(PTRACE_SYSCALL, thread, NULL, given);
    }
}
