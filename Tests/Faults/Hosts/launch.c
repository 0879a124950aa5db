/*
 * launch.c - starts a program in a host: `launch HOST PROGRAM ARGUMENT...`. The hosts are those that a process is born into;
 * what is done within a process is in within.c.
 *
 *   plain            nothing
 *   one_processor    it may use one
 *   few_files        32 descriptors at most
 *   small_stacks     64 KiB for each stack
 *   first_process    it is process 1, of a namespace of its own
 *   bare_root        a root that is read-only, without /proc and /dev; $HOST_ROOT is an empty directory for it
 *
 * Exits with 77 where the system does not permit it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_PERMITTED = 77, FILES = 32, STACK = 64 * 1024 };

static void need(int holds, const char *what) {
  if (holds) return;
  printf("%s: %s\n", what, strerror(errno));
  exit(NOT_PERMITTED);
}

static void limit(int resource, rlim_t most) {
  const struct rlimit value = {most, most};
  need(setrlimit(resource, &value) == 0, "setrlimit");
}

static void bind_to_one_processor(void) {
  cpu_set_t allowed, one;
  int i;
  need(sched_getaffinity(0, sizeof allowed, &allowed) == 0, "sched_getaffinity");
  for (i = 0; !CPU_ISSET(i, &allowed); i++) continue;
  CPU_ZERO(&one);
  CPU_SET(i, &one);
  need(sched_setaffinity(0, sizeof one, &one) == 0, "sched_setaffinity");
}

/* Mounts from here on are this process's own. */
static void begin_mounts(int flags) {
  need(unshare(CLONE_NEWNS | flags) == 0, "unshare");
  need(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount");
}

static void have_a_bare_root(void) {
  const char *root = getenv("HOST_ROOT");
  char path[512];
  const char *const empty[] = {"proc", "dev"};
  size_t i;
  need(root != NULL, "HOST_ROOT");
  begin_mounts(0);
  /* Without what is mounted below it. */
  need(mount("/", root, NULL, MS_BIND, NULL) == 0, "mount the root");
  for (i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", root, empty[i]);
    need(mount("none", path, "tmpfs", MS_RDONLY, NULL) == 0, path);
  }
  need(mount(NULL, root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0, "mount the root read-only");
  need(chroot(root) == 0 && chdir("/") == 0, "chroot");
}

/* The launcher stays outside, and ends as process 1 does, and with it. */
static void become_first_process(void) {
  int status = 0;
  pid_t child;
  begin_mounts(CLONE_NEWPID);
  child = fork();
  need(child >= 0, "fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    need(getpid() == 1, "a namespace of processes");
    need(mount("proc", "/proc", "proc", 0, NULL) == 0, "mount /proc");
    return;
  }
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

int main(int argc, char **argv) {
  const char *host = argc > 2 ? argv[1] : "";
  const char *within = getenv("HOST_PRELOAD");
  const struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  if (strcmp(host, "one_processor") == 0) bind_to_one_processor();
  else if (strcmp(host, "few_files") == 0) limit(RLIMIT_NOFILE, FILES);
  else if (strcmp(host, "small_stacks") == 0) limit(RLIMIT_STACK, STACK);
  else if (strcmp(host, "first_process") == 0) become_first_process();
  else if (strcmp(host, "bare_root") == 0) have_a_bare_root();
  else if (strcmp(host, "plain") != 0) {
    fprintf(stderr, "launch HOST PROGRAM ARGUMENT...\n");
    return 2;
  }
  if (within != NULL) setenv("LD_PRELOAD", within, 1);
  execv(argv[2], argv + 2);
  perror(argv[2]);
  return 2;
}
