/* A program that uses PAM as a login does, but for what it is told to do otherwise:

     application SERVICE USER PASSWORD-FD [become=NAME] [reap] [ignore] [twice] [refresh] [copies]

   It answers every question with the line from the descriptor. It prints the codes, and with `copies` how many
   copies of the password its writable memory still has at the end. */

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <security/pam_appl.h>

/* The password with every bit turned, so that this is no copy of it. */
static unsigned char turned[512];
static size_t size;

static int answer(int count, const struct pam_message **messages, struct pam_response **out, void *data) {
    (void)messages, (void)data;
    struct pam_response *all = calloc((size_t)count, sizeof *all);
    for (int i = 0; i < count; i++) {
        all[i].resp = calloc(1, size + 1);
        for (size_t at = 0; at < size; at++) all[i].resp[at] = (char)~turned[at];
    }
    *out = all;
    return PAM_SUCCESS;
}

static void reap(int number) {
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) continue;
}

__attribute__((no_sanitize_address)) static int copies(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], rights[8];
    unsigned long from, to;
    int found = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) != 3 || strncmp(rights, "rw", 2) != 0) continue;
        for (unsigned char *at = (unsigned char *)from; at + size <= (unsigned char *)to; at++) {
            size_t same = 0;
            while (same < size && at[same] == (unsigned char)~turned[same]) same++;
            found += same == size;
        }
    }
    if (maps != NULL) fclose(maps);
    return found;
}

int main(int argc, char **argv) {
    if (argc < 4) return 64;
    unsigned char byte;
    while (size < sizeof turned && read(atoi(argv[3]), &byte, 1) == 1 && byte != '\n')
        turned[size++] = (unsigned char)~byte;
    byte = 0;
    const struct pam_conv talk = {answer, NULL};
    pam_handle_t *pamh = NULL;
    const char *become = NULL;
    int sessions = 1, refresh = 0, count = 0;
    for (int i = 4; i < argc; i++) {
        if (strncmp(argv[i], "become=", 7) == 0) become = argv[i] + 7;
        if (strcmp(argv[i], "reap") == 0) signal(SIGCHLD, reap);
        if (strcmp(argv[i], "ignore") == 0) signal(SIGCHLD, SIG_IGN);
        if (strcmp(argv[i], "twice") == 0) sessions = 2;
        if (strcmp(argv[i], "refresh") == 0) refresh = 1;
        if (strcmp(argv[i], "copies") == 0) count = 1;
    }
    if (pam_start(argv[1], argv[2], &talk, &pamh) != PAM_SUCCESS) return 65;
    int code = pam_authenticate(pamh, 0);
    printf("authenticate %d\n", code);
    if (code == PAM_SUCCESS) {
        if (become != NULL) pam_set_item(pamh, PAM_USER, become);
        if (refresh) printf("refresh %d\n", pam_setcred(pamh, PAM_REINITIALIZE_CRED));
        for (int i = 0; i < sessions && !refresh; i++) {
            printf("session %d\n", pam_open_session(pamh, 0));
            printf("end %d\n", pam_close_session(pamh, 0));
        }
    }
    /* Before the end of PAM's own handle, so that it shows what the module alone leaves. */
    if (count) printf("copies %d\n", copies());
    pam_end(pamh, code);
    return 0;
}
