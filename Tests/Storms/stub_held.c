#include "storms.h"
const csuite_test held_storms[] = {{NULL, NULL}};
