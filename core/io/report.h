/*
 * The poller's reports become active events.
 *
 * A report may be no news: the event's callback is queued or runs on another worker. A level-triggered descriptor is
 * disarmed then, or the poller would spin. A report may also be older than the run that dealt with it; it is dropped.
 */
#ifndef EC_REPORT_H
#define EC_REPORT_H

struct ec_batch;
struct ec_worker;

/* Under SOURCE of `w`: activate the events that the poller's last `num` reports are for. */
void ec_reports_deliver(struct ec_worker *w, int num, struct ec_batch *batch);
void ec_reports_deliver_serial(struct ec_worker *w, int num);	/* of a base that is not locked */
void ec_reports_deliver_held(struct ec_worker *w, int num);	/* as zero.h holds the base */

#endif
