/* crowd.c - a library that has 256 bytes of static storage for threads, as many libraries have some: see loading.c. */
static __thread char storage[256] __attribute__((tls_model("initial-exec")));

char *storage_of_thread(void);
char *storage_of_thread(void) { return storage; }
