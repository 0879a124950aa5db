#include "storms.h"
const csuite_test slot_storms[] = {{NULL, NULL}};
