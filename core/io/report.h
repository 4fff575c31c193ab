/*
 * The poller's reports become active events.
 *
 * When a report arrives, the event's callback may already be queued or running on another worker. A level-triggered
 * descriptor is then disarmed; otherwise the poller would spin. A report may also be older than the last run of the
 * callback; then it is dropped.
 */
#ifndef EC_REPORT_H
#define EC_REPORT_H

struct ec_batch;
struct ec_worker;

/* Under SOURCE of `w`: activates the events of the poller's last `num` reports. */
void ec_reports_deliver(struct ec_worker *w, int num, struct ec_batch *batch);
void ec_reports_deliver_serial(struct ec_worker *w, int num);	/* of a base that is not locked */
void ec_reports_deliver_held(struct ec_worker *w, int num);	/* as zero.h holds the base */

#endif
