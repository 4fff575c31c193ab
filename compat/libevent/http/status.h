/* Reason phrases of status codes, and the text of a reply's Date. */
#ifndef HTTP_STATUS_H
#define HTTP_STATUS_H

#include <time.h>

const char *le_status_reason(int code);		/* never NULL */

/* "Sat, 21 Nov 2026 12:05:26 GMT" and a NUL, 30 bytes. */
void le_status_date(time_t when, char *ret);

#endif
