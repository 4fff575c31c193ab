/*
 * Messages: posts that go by the mailbox of a worker (mailbox.h). Their delivery is declared in base.h.
 */
#ifndef EC_MAIL_H
#define EC_MAIL_H

#include <stdbool.h>

#include "base.h"

/*
 * Posts with middle priority to `c`, which was the color `color` and at `w`. False: the color has moved or ended,
 * there is no room, or a worker may have to be woken.
 */
bool ec_mailbox_put(struct ec_worker *w, struct ec_color *c, uint32_t color, ec_post_fn fn, void *arg);

#endif
