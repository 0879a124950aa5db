#include "harness.h"
const csuite_test known_nio_tests[] = {{NULL, NULL}};
