#include "process.h"

#include "version.h"

struct ec_process ec_process = { .version = EC_VERSION };
