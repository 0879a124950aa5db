/* system_darwin.c - see system.h. */
#include "system.h"

#if defined(__APPLE__)

#include <mach/mach.h>
#include <stddef.h>

int64_t system_boottime_ns(void) { return -1; }

/* All addresses, of which there are gigabytes before anything is done, say nothing. */
int64_t system_mapped_kib(void) { return -1; }

int64_t system_resident_kib(void) {
  mach_task_basic_info_data_t info;
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&info, &count) != KERN_SUCCESS) return -1;
  return (int64_t)(info.resident_size / 1024);
}

int64_t system_allocated_bytes(void) { return 0; }

void system_name_of_thread(char *name, int capacity) { (void)capacity, name[0] = 0; }
#endif
