/* cell.c -- descriptors, limits, system calls, environment; then the command.
 *
 * No network: there is nothing to make a socket with, so that no namespace is needed, which an
 * ordinary user or a hardened service could not have.  A pair of sockets that are connected to each
 * other is let pass, where it keeps to that; and nobody may look into other processes, take their
 * descriptors or their limits, or stop the party.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "common/program/cell.h"

#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <linux/sockios.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *cell_step_words(enum cell_step step)
{
    static const char *const words[CELL_STEPS] = {
        [CELL_DESCRIPTORS] = "its descriptors",
        [CELL_MEMORY] = "its limit of memory",
        [CELL_PRIVILEGES] = "taking its privileges",
        [CELL_NETWORK] = "taking the network from it",
        [CELL_COMMAND] = "its command",
    };

    return (unsigned)step < CELL_STEPS ? words[step] : "starting it";
}

/* --- descriptors --- */

/* 0: nothing to read; 1 and 2: what it prints; CELL_FD; `said`, which closes with exec; nothing
 * else. */
static bool put_descriptors(const struct cell *cell)
{
    enum { FREE = CELL_FD + 2 };
    const int nothing = memfd_create("nothing", 0), own = fcntl(cell->fd, F_DUPFD, FREE),
              tell = fcntl(cell->said, F_DUPFD, FREE), prints = fcntl(cell->prints, F_DUPFD, FREE);

    return nothing >= 0 && own >= 0 && tell >= 0 && prints >= 0 && dup2(nothing, 0) == 0 &&
           dup2(prints, 1) == 1 && dup2(prints, 2) == 2 && dup2(own, CELL_FD) == CELL_FD &&
           dup2(tell, CELL_FD + 1) == CELL_FD + 1 && fcntl(CELL_FD + 1, F_SETFD, FD_CLOEXEC) == 0 &&
           syscall(SYS_close_range, FREE, ~0U, 0) == 0;
}

/* --- signals --- */

/* What the keeper and the daemon do not hear would not end what the program starts either. */
static void hear_signals(void)
{
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* --- limits --- */

/* Where memory is short it goes first, and not the party.  A process that may not be dumped does
 * not own its files in /proc; there is nothing of the daemon's in this one. */
static void go_first(void)
{
    struct error none = {0};
    int fd;

    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 &&
        file_open_own(&fd, "/proc/self/oom_score_adj", O_WRONLY, 0, &none) == STATUS_OK) {
        if (write(fd, "1000", 4) != 4)
            errno = 0; /* it goes when its turn comes */
        close(fd);
    }
}

static bool set_limits(uint32_t memory_mib)
{
    const struct rlimit none = {0, 0},
                        memory = {(rlim_t)memory_mib << 20, (rlim_t)memory_mib << 20};

    go_first();
    return setrlimit(RLIMIT_CORE, &none) == 0 && setrlimit(RLIMIT_AS, &memory) == 0;
}

/* --- privileges --- */

/* None of root's, for one that is root: neither now nor by exec, which gives no more than there is
 * (PR_SET_NO_NEW_PRIVS), and nothing where to be root is to be anybody. */
static bool drop_privileges(void)
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3], none[_LINUX_CAPABILITY_U32S_3];
    uint32_t left = 0;
    bool by_exec;

    for (unsigned long cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
        continue;
    by_exec = prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NOROOT_LOCKED, 0, 0, 0) == 0 ||
              (getuid() != 0 && geteuid() != 0);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return false;
    memset(none, 0, sizeof none);
    if (syscall(SYS_capget, &head, has) != 0)
        return false;
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        left |= has[i].effective | has[i].permitted | has[i].inheritable;
    /* A hardened service has no capset. */
    return left == 0 || syscall(SYS_capset, &head, none) == 0 || by_exec;
}

/* --- system calls --- */

#if defined(__x86_64__)
#define CELL_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CELL_ARCH AUDIT_ARCH_AARCH64
#endif

#ifdef CELL_ARCH
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define DENIED (SECCOMP_RET_ERRNO | EPERM)
#define DENY(call) IS((call), 0, 1), RETURN(DENIED)

#define ARGUMENT(i) LOAD(args[i]) /* its low word, which is all of an int */
#define ALLOW RETURN(SECCOMP_RET_ALLOW)

/* With the number of the call loaded. */
static const struct sock_filter whole_calls[] = {
    LOAD(arch),
    IS(CELL_ARCH, 1, 0),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
#ifdef __x86_64__
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1), /* the other numbers of x32 */
    RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
    DENY(SYS_socket),
    DENY(SYS_connect),
    DENY(SYS_bind),
    DENY(SYS_listen),
    DENY(SYS_accept),
    DENY(SYS_accept4),
    DENY(SYS_io_uring_setup),
    DENY(SYS_io_uring_enter),
    DENY(SYS_io_uring_register),
    DENY(SYS_ptrace),
    DENY(SYS_process_vm_readv),
    DENY(SYS_process_vm_writev),
    DENY(SYS_pidfd_getfd),
    DENY(SYS_pidfd_send_signal),
    DENY(SYS_tkill), /* by a thread alone, and values with it: kill and tgkill are asked below */
    DENY(SYS_rt_sigqueueinfo),
    DENY(SYS_rt_tgsigqueueinfo),
    DENY(SYS_unshare),
    DENY(SYS_setns),
    DENY(SYS_mount),
    DENY(SYS_umount2),
    DENY(SYS_pivot_root),
    DENY(SYS_chroot),
    DENY(SYS_fsopen),
    DENY(SYS_fsconfig),
    DENY(SYS_fsmount),
    DENY(SYS_fspick),
    DENY(SYS_open_tree),
    DENY(SYS_move_mount),
    DENY(SYS_mount_setattr),
    DENY(SYS_bpf),
    DENY(SYS_perf_event_open),
    DENY(SYS_userfaultfd),
    DENY(SYS_add_key),
    DENY(SYS_request_key),
    DENY(SYS_keyctl),
    IS(SYS_clone3, 0, 1), /* what it is to make is in memory; who is told so takes clone */
    RETURN(SECCOMP_RET_ERRNO | ENOSYS),
};

/* Of a call, where this argument is one of two values. */
#define DENY_EITHER(call, argument, a, b)                                                          \
    IS((call), 0, 5), ARGUMENT(argument), IS((a), 2, 0), IS((b), 1, 0), ALLOW, RETURN(DENIED)

enum { NEW_NAMESPACES = 0x7e020000 };

/* Signals reach the daemon and the keeper by their numbers, by those of groups, and as the owners
 * of a descriptor. */
static size_t add_arguments(struct sock_filter *to, const struct cell *cell)
{
    const uint32_t keeper = (uint32_t)cell->keeper, daemon = (uint32_t)cell->daemon;
    const struct sock_filter by_argument[] = {
        IS(SYS_socketpair, 0, 9),
        ARGUMENT(0),
        IS(AF_UNIX, 1, 0),
        RETURN(DENIED),
        ARGUMENT(1),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
        IS(SOCK_STREAM, 1, 0),
        IS(SOCK_SEQPACKET, 0, 1),
        ALLOW,
        RETURN(DENIED),
        IS(SYS_kill, 0, 7),
        ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x80000000, 4, 0), /* a group, or all */
        IS(keeper, 3, 0),
        IS(daemon, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 1, 0, 1),
        ALLOW,
        RETURN(DENIED),
        DENY_EITHER(SYS_tgkill, 0, keeper, daemon),
        DENY_EITHER(SYS_fcntl, 1, F_SETOWN, F_SETOWN_EX),
        DENY_EITHER(SYS_ioctl, 1, FIOSETOWN, SIOCSPGRP),
        IS(SYS_prlimit64, 0, 4),
        ARGUMENT(0),
        IS(0, 0, 1),
        ALLOW,
        RETURN(DENIED),
        IS(SYS_clone, 0, 4),
        ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, NEW_NAMESPACES, 1, 0),
        ALLOW,
        RETURN(DENIED),
        ALLOW,
    };

    memcpy(to, by_argument, sizeof by_argument);
    return sizeof by_argument / sizeof *by_argument;
}

static bool leave_network(const struct cell *cell)
{
    enum { WHOLE = sizeof whole_calls / sizeof *whole_calls, BY_ARGUMENT_MAX = 64 };
    struct sock_filter filter[WHOLE + BY_ARGUMENT_MAX];
    struct sock_fprog program = {.filter = filter};

    memcpy(filter, whole_calls, sizeof whole_calls);
    program.len = (unsigned short)(WHOLE + add_arguments(filter + WHOLE, cell));
    /* By prctl: seccomp itself is not among the calls of a hardened service (deploy/systemd). */
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
#else
static bool leave_network(const struct cell *cell)
{
    (void)cell;
    errno = ENOSYS;
    return false;
}
#endif

/* --- the command --- */

/* The daemon's own environment may have passwords of databases. */
static const char *const kept[] = {"PATH",
                                   "HOME",
                                   "LANG",
                                   "LC_ALL",
                                   "TZ",
                                   "TMPDIR",
                                   "PYTHONPATH",
                                   "PYTHONHOME",
                                   "VIRTUAL_ENV",
                                   "LD_LIBRARY_PATH",
                                   "OMP_NUM_THREADS",
                                   "MKL_NUM_THREADS",
                                   "OPENBLAS_NUM_THREADS",
                                   "CUDA_VISIBLE_DEVICES"};
enum { KEPT = sizeof kept / sizeof *kept, VARIABLE_MAX = 4096 };

static void run(const struct config_command *c)
{
    static char text[KEPT][VARIABLE_MAX];
    char *argv[CONFIG_LIST_MAX + 1] = {NULL}, *environment[KEPT + 1] = {NULL};
    size_t n = 0;

    for (size_t i = 0; i < KEPT; i++) {
        const char *value = getenv(kept[i]);

        if (value != NULL &&
            snprintf(text[n], VARIABLE_MAX, "%s=%s", kept[i], value) < VARIABLE_MAX) {
            environment[n] = text[n];
            n++;
        }
    }
    for (size_t i = 0; i < c->n; i++)
        argv[i] = (char *)(uintptr_t)c->arg[i];
    execvpe(argv[0], argv, environment);
}

enum cell_step cell_enter(const struct config_program *c, const struct cell *cell)
{
    /* No terminal's ^C, no signal for the service: the daemon says when it is over. */
    setsid();
    hear_signals();
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || !put_descriptors(cell))
        return CELL_DESCRIPTORS;
    if (getppid() != cell->keeper) { /* it ended before that was said */
        errno = ESRCH;
        return CELL_PRIVILEGES;
    }
    if (!set_limits(c->memory_mib))
        return CELL_MEMORY;
    if (!drop_privileges())
        return CELL_PRIVILEGES;
    if (!leave_network(cell))
        return CELL_NETWORK;
    run(&c->command);
    return CELL_COMMAND;
}
