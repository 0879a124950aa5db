#include "platform.h"

/* Of dispatch_functions.h, which needs libdispatch's headers. */
const void *chime_queue_key(void);
const void *chime_main_queue_key(void);

static char keys[2];
const void *chime_queue_key(void) { return &keys[0]; }
const void *chime_main_queue_key(void) { return &keys[1]; }

bool chime_is_error_of_permission(int error) { return error == EACCES || error == EPERM || error == EROFS; }
bool chime_is_error_of_being_busy(int error) { return error == EBUSY; }
bool chime_is_error_of_memory(int error) { return error == ENOMEM; }

/*
 * Makes the globals when the library, or the program that it is part of, is loaded, which their first user would do
 * otherwise: so no two threads meet there, and no fork comes between.
 */
void library_of_chime_was_loaded(void);
__attribute__((constructor)) static void load(void) {
  library_of_chime_was_loaded();
  chime_stay_loaded((const void *)&library_of_chime_was_loaded);
}
