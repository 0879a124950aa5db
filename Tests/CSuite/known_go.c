#include "harness.h"
const csuite_test known_go_tests[] = {{NULL, NULL}};
