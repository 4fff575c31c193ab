// As the oldest programs look: everything global, K&R spacing, casts of NULL, goto, static tables, callbacks in arrays.

#include "sysconf.h"
#include "async.h"
#include "amisc.h"
#include "err.h"
#include "vec.h"
#include "str.h"
#include "rxx.h"
#include <ctype.h>
#include <signal.h>

extern "C" {
#include <sys/param.h>
}

#ifndef MAXPATHLEN
#define MAXPATHLEN PATH_MAX
#endif

#define NCMD (sizeof (cmds) / sizeof (cmds[0]))

typedef void (*cmdfn_t) (vec<str> &av);

static void cmd_echo (vec<str> &av);
static void cmd_sum (vec<str> &av);
static void cmd_help (vec<str> &av);

static struct cmd {
  char *name;
  cmdfn_t fn;
  int minargs, maxargs;
} cmds[] = {
  { "echo", cmd_echo, 0, -1 },
  { "sum", cmd_sum, 1, -1 },
  { "help", cmd_help, 0, 0 },
};

static char *progfile = "oldtimer";
static const char version[] = "1.0";
static int nerrors = 0;
static rxx *wsrx = NULL;
static str *lastp;

static void
cmd_echo (vec<str> &av)
{
  for (u_int i = 1; i < av.size (); i++)
    printf ("%s%s", i > 1 ? " " : "", av[i].cstr ());
  putchar ('\n');
}

static void
cmd_sum (vec<str> &av)
{
  int s = 0, i;
  for (i = 1; i < (int) av.size (); i++) {
    char *ep;
    long n = strtol (av[i], &ep, 0);
    if (*ep || av[i] == "")
      goto bad;
    s += n;
  }
  printf ("%d\n", s);
  return;

 bad:
  printf ("sum: bad number %s\n", (char *) av[i].cstr ());
  nerrors++;
}

static void
cmd_help (vec<str> &av)
{
  for (u_int i = 0; i < NCMD; i++)
    printf ("%s%c", cmds[i].name, i + 1 == NCMD ? '\n' : ' ');
}

static void
docmd (char *line)
{
  vec<str> av;
  while (isspace (*line))
    line++;
  if (!*line || *line == '#')
    return;
  split (&av, *wsrx, line);
  for (struct cmd *c = cmds; c < cmds + NCMD; c++)
    if (!strcasecmp (av[0], c->name)) {
      int n = av.size () - 1;
      if (n < c->minargs || (c->maxargs >= 0 && n > c->maxargs)) {
	printf ("usage: %s\n", c->name);
	nerrors++;
      }
      else
	c->fn (av);
      *lastp = av.back ();
      return;
    }
  printf ("%s: unknown\n", av[0].cstr ());
  nerrors++;
}

static char inbuf[MAXPATHLEN];
static size_t inlen;

void
input (int fd)
{
  ssize_t n = read (fd, inbuf + inlen, sizeof (inbuf) - inlen - 1);
  if (n == -1) {
    if (errno != EAGAIN && errno != EINTR)
      fatal ("read: %m\n");
    return;
  }
  if (n == 0) {
    fdcb (fd, selread, 0);
    printf ("%d errors, last %s\n", nerrors, lastp->cstr ());
    exit (nerrors ? 0 : 1);
  }
  inlen += n;
  inbuf[inlen] = '\0';
  char *p, *nl;
  for (p = inbuf; (nl = strchr (p, '\n')); p = nl + 1) {
    *nl = '\0';
    docmd (p);
  }
  inlen -= p - inbuf;
  memmove (inbuf, p, inlen);
}

static void usage () __attribute__ ((noreturn));
static void
usage ()
{
  warnx << "usage: " << progname << " [-v]\n";
  exit (1);
}

int
main (int argc, char **argv)
{
  int ch;
  extern char *optarg;
  extern int optind;

  setprogname (progfile);
  while ((ch = getopt (argc, argv, "vd:")) != -1)
    switch (ch) {
    case 'v':
      printf ("%s\n", version);
      break;
    case 'd':
      chdir (optarg);
      break;
    case '?':
    default:
      usage ();
    }
  if (optind < argc)
    usage ();
  wsrx = New rxx ("\\s+");
  lastp = New str;
  int fds[2];
  if (pipe (fds) == -1)
    fatal ("pipe: %m\n");
  make_async (fds[0]);
  signal (SIGPIPE, SIG_IGN);
  const char *text = "echo a  b c\n\n# none\nSUM 1 0x10 -7\nsum 1 two\nsum\nhelp\nquit\n";
  write (fds[1], text, strlen (text));
  close (fds[1]);
  fdcb (fds[0], selread, wrap (&input, fds[0]));
  amain ();
  return 0;
}

/* prints
a b c
10
sum: bad number two
usage: sum
echo sum help
quit: unknown
3 errors, last help
*/
