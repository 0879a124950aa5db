#include "harness.h"
const csuite_test known_dispatch_tests[] = {{NULL, NULL}};
