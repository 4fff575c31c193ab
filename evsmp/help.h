/*
 * evsmp COMMAND --help
 */
#ifndef EVSMP_HELP_H
#define EVSMP_HELP_H

/* To standard output: what `usage`, the text of `evsmp --help`, says of the command, and its options. */
void help_put(const char *command, const char *usage);

#endif
