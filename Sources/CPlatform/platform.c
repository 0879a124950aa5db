#include "platform.h"

/* Of dispatch_functions.h, which needs libdispatch's headers. */
const void *chime_queue_key(void);
const void *chime_main_queue_key(void);

static char keys[2];
const void *chime_queue_key(void) { return &keys[0]; }
const void *chime_main_queue_key(void) { return &keys[1]; }

bool chime_is_error_of_permission(int error) { return error == EACCES || error == EPERM || error == EROFS; }
bool chime_is_error_of_memory(int error) { return error == ENOMEM; }
