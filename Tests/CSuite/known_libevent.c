#include "harness.h"
const csuite_test known_libevent_tests[] = {{NULL, NULL}};
