#include "harness.h"
const csuite_test known_timeout_tests[] = {{NULL, NULL}};
