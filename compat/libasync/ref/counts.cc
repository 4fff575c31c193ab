/*
 * Whether reference counts are shared by threads.
 */
#include "libasync_config.h"

namespace libasync
{

LIBASYNC_EXPORT bool counts_are_shared;

} // namespace libasync
