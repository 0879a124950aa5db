/*
 * thread_state.h - one pointer for each thread, reached without a call: initial-exec storage, which a library loaded by
 * dlopen can have, too, as long as it is this little. (pthread_getspecific is some 25 instructions each time.)
 */
#ifndef CHIME_THREAD_STATE_H
#define CHIME_THREAD_STATE_H

extern __attribute__((visibility("hidden"), tls_model("initial-exec"))) _Thread_local void *thread_state_of_chime;

static inline void *chime_thread_state(void) { return thread_state_of_chime; }
static inline void chime_set_thread_state(void *state) { thread_state_of_chime = state; }

#endif
