/* Preloaded into the daemon by tests: stops the whole process dead at one exact system call.

   Nothing of the program is replaced. Calls that change a file are reported by the kernel (seccomp user notification) to
   a thread of this library before they happen; it writes each of them down, lets it go on, and at the one that was asked
   for does none, half or all of it and kills the process. It counts only while the file BOUNDARY_ARMED exists.

   BOUNDARY_LOG     file that gets one line `<call> <path>` for each call
   BOUNDARY_ARMED   see above
   BOUNDARY_STOP    `<before|half|after> <call> <number from 1> <glob of the path>`; none: only the log

   A transaction of a SQLite log is three calls: `begin`, its first write; `commit`, the write of its last page, without
   which it does not exist; and the one that brings it to the disk. The writes between are not told. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Writes to files that are smaller are not stopped: sockets, pipes and logs would be asked about all the time. */
#define LARGE 4096

enum names { FD, AT, FROM_TO, LINK, ONE, TWO };

/* How each call names its file. */
static const struct { int number; const char *name; enum names names; } CALLS[] = {
    {SYS_pwrite64, "pwrite64", FD},
    {SYS_ftruncate, "ftruncate", FD},
    {SYS_fsync, "fsync", FD},
    {SYS_fdatasync, "fdatasync", FD},
    {SYS_renameat2, "rename", FROM_TO},
    {SYS_renameat, "rename", FROM_TO},
    {SYS_linkat, "link", FROM_TO},
    {SYS_symlinkat, "symlink", LINK},
    {SYS_unlinkat, "unlink", AT},
#ifdef SYS_rename
    {SYS_rename, "rename", TWO},
    {SYS_unlink, "unlink", ONE},
#endif
    {SYS_write, "write", FD},
};
#define COUNT (sizeof CALLS / sizeof *CALLS)

static int listener = -1, log_file = -1;
static const char *armed;
static char when[16], wanted[32], glob[PATH_MAX];
static unsigned long nth;
static sem_t ready;

__attribute__((noreturn)) static void fail(const char *what) {
    dprintf(2, "tests: %s: %s (seccomp user notification is needed: Linux 5.9 or newer, not forbidden by a container)\n",
            what, strerror(errno));
    _exit(97);
}

static void path_of(int fd, char *out, size_t size) {
    char link[64];
    if (fd == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, out, size - 1);
    out[length < 0 ? 0 : length] = 0;
}

static void at(int fd, const char *name, char *out, size_t size) {
    if (name[0] == '/') { snprintf(out, size, "%s", name); return; }
    path_of(fd, out, size);
    size_t length = strlen(out);
    snprintf(out + length, size - length, "/%s", name);
}

static const char *text(unsigned long long address) { return (const char *)(uintptr_t)address; }

static void describe(enum names names, const unsigned long long *a, char *out, size_t size) {
    size_t length;
    switch (names) {
    case FD: path_of((int)a[0], out, size); break;
    case AT: at((int)a[0], text(a[1]), out, size); break;
    case LINK: at((int)a[1], text(a[2]), out, size); break;
    case ONE: at(AT_FDCWD, text(a[0]), out, size); break;
    case FROM_TO:
    case TWO:
        if (names == TWO) at(AT_FDCWD, text(a[0]), out, size);
        else at((int)a[0], text(a[1]), out, size);
        length = strlen(out);
        if (length + 2 < size) {
            out[length++] = '>';
            if (names == TWO) at(AT_FDCWD, text(a[1]), out + length, size - length);
            else at((int)a[2], text(a[3]), out + length, size - length);
        }
        break;
    }
}

/* What a write to a SQLite log is; none when it is one in the middle. */
static const char *log_write(const char *path, const unsigned char *bytes, unsigned long long length) {
    static struct { char path[2 * PATH_MAX]; int inside, last; } logs[8];
    int no = 0;
    while (no < 7 && logs[no].path[0] && strcmp(logs[no].path, path)) no++;
    snprintf(logs[no].path, sizeof logs[no].path, "%s", path);
    if (length == 24 && (bytes[4] | bytes[5] | bytes[6] | bytes[7])) logs[no].last = 1;
    else if (length > 32 && logs[no].last) { logs[no].last = logs[no].inside = 0; return "commit"; }
    if (logs[no].inside) return NULL;
    logs[no].inside = 1;
    return "begin";
}

static int ours(unsigned pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u", pid);
    return access(path, F_OK) == 0;
}

__attribute__((noreturn)) static void die(const struct seccomp_data *call) {
    unsigned long long a[6];
    memcpy(a, call->args, sizeof a);
    if (!strcmp(when, "half")) a[2] /= 2;
    if (strcmp(when, "before")) syscall(call->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static void look(const struct seccomp_data *call) {
    char path[2 * PATH_MAX], line[2 * PATH_MAX + 64];
    size_t no = 0;
    while (no < COUNT && CALLS[no].number != call->nr) no++;
    if (no == COUNT) return;
    const char *name = CALLS[no].name;
    describe(CALLS[no].names, call->args, path, sizeof path);
    if (CALLS[no].names == FD && path[0] != '/') return;
    size_t length = strlen(path);
    if (call->nr == SYS_pwrite64 && length > 4 && !strcmp(path + length - 4, "-wal")) {
        name = log_write(path, (const unsigned char *)text(call->args[1]), call->args[2]);
    }
    if (!name || access(armed, F_OK)) return;
    int size = snprintf(line, sizeof line, "%s %s\n", name, path);
    if (write(log_file, line, (size_t)size) != size) fail("the log of boundaries cannot be written");
    if (!strcmp(name, wanted) && !fnmatch(glob, path, 0) && --nth == 0) die(call);
}

static void *watch(void *unused) {
    (void)unused;
    while (sem_wait(&ready)) {}
    for (;;) {
        struct seccomp_notif asked;
        memset(&asked, 0, sizeof asked);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked)) {
            if (errno == EINTR || errno == ENOENT) continue;
            fail("the kernel tells of no more calls");
        }
        if (ours(asked.pid)) look(&asked.data);
        struct seccomp_notif_resp answer;
        memset(&answer, 0, sizeof answer);
        answer.id = asked.id;
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
    }
    return NULL;
}

static void install(void) {
    struct sock_filter code[COUNT + 8];
    unsigned short n = 0;
    const unsigned char last = COUNT - 1;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned char no = 0; no < last; no++) {
        /* To the last line. */
        unsigned char far = (unsigned char)(last - no + 3);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)CALLS[no].number, far, 0);
    }
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)CALLS[last].number, 0, 2);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]));
    code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, LARGE, 1, 0);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    struct sock_fprog program = {n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) fail("no_new_privs");
    listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    if (listener < 0) fail("seccomp");
}

__attribute__((constructor)) static void begin(void) {
    const char *log = getenv("BOUNDARY_LOG"), *stop = getenv("BOUNDARY_STOP");
    armed = getenv("BOUNDARY_ARMED");
    if (!log || !armed) return;
    if (stop && sscanf(stop, "%15s %31s %lu %4095[^\n]", when, wanted, &nth, glob) != 4) {
        errno = EINVAL;
        fail("BOUNDARY_STOP");
    }
    armed = strdup(armed);
    log_file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log_file < 0) fail(log);
    /* What the daemon starts is not watched. */
    unsetenv("LD_PRELOAD");
    unsetenv("BOUNDARY_LOG");
    unsetenv("BOUNDARY_STOP");
    unsetenv("BOUNDARY_ARMED");
    pthread_t thread;
    sem_init(&ready, 0, 0);
    /* Before the filter, which holds for the threads that come after it only. */
    if (pthread_create(&thread, NULL, watch, NULL)) fail("a thread");
    install();
    sem_post(&ready);
}
