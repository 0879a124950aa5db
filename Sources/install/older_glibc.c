// What programs took from glibc's archive, libc_nonshared.a, and not from libc.so: stat, fstat and lstat before 2.33; and
// the functions that register others for the library that calls them.

struct stat;

// The layout of struct stat; glibc's own number for each machine.
#ifdef __x86_64__
#define LAYOUT 1
#else
#define LAYOUT 0
#endif

int __xstat(int layout, const char *path, struct stat *status);
int __fxstat(int layout, int file, struct stat *status);
int __lxstat(int layout, const char *path, struct stat *status);

int stat(const char *path, struct stat *status) { return __xstat(LAYOUT, path, status); }
int fstat(int file, struct stat *status) { return __fxstat(LAYOUT, file, status); }
int lstat(const char *path, struct stat *status) { return __lxstat(LAYOUT, path, status); }

extern void *__dso_handle; // crtbeginS.o's: which library
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library);
int __cxa_atexit(void (*function)(void *), void *argument, void *library);

int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  return __register_atfork(prepare, parent, child, &__dso_handle);
}

static void call(void *function) { ((void (*)(void))function)(); }
int atexit(void (*function)(void)) { return __cxa_atexit(call, (void *)function, &__dso_handle); }
