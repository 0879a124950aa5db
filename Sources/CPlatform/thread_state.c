#include "thread_state.h"

_Thread_local void *thread_state_of_chime;
