/*
 * Recording a program that evsmp starts, and all processes that come from it.
 *
 * EVENT_SMP_TRACE names a file in a directory of ours, so each of them is traced from its first callback on, and evsmp
 * finds it by its file. Then evsmp takes the wish over (attach.h): the trace ends soon after evsmp does, however that
 * ends. A process that it may not attach to keeps its trace on.
 */
#ifndef EVSMP_LAUNCH_H
#define EVSMP_LAUNCH_H

#include "record.h"

/* What the program exits with, if it has ended; else EVSMP_OK. */
enum status launch_record(const struct record_options *o, char **argv, struct recording *r);

#endif
