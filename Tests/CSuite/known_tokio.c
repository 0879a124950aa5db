#include "harness.h"
const csuite_test known_tokio_tests[] = {{NULL, NULL}};
