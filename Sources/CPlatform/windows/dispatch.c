/* There is no libdispatch. */
#if defined(_WIN32)
#include "dispatch_main_queue.h"

int chime_dispatch_main_queue_file(void) { return -1; }
void chime_dispatch_drain_main_queue(int file) { (void)file; }
#endif
