// A configuration file says how the loop waits, and a child gets that as a number.

#include "async.h"
#include "sfs_select.h"
#include "parseopt.h"
#include "dns.h"

sfs_core::select_policy_t sys_sel_policy = sfs_core::SELECT_NONE;

class conf_t {
public:
  bool parse (const str &f)
  {
    str sel;
    conftab ct;
    ct.add ("SelectPolicy", &sel).ignore ("AcceptDelay");
    if (!ct.run (f))
      return false;
    sys_sel_policy = sfs_core::select_policy_from_str (sel);
    return true;
  }
  str args () const { return strbuf () << "sel=" << int (sys_sel_policy); }
};

static void
child (str args)
{
  int tmp = 0;
  if (!convertint (args.cstr () + 4, &tmp))
    fatal << "bad arguments\n";
  sys_sel_policy = sfs_core::select_policy_t (tmp);
  if (sys_sel_policy != sfs_core::SELECT_NONE && sfs_core::set_select_policy (sys_sel_policy) < 0)
    warn ("failed to switch select policy: %m\n");
}

static void
timer (int n)
{
  printf ("timer %d\n", n);
  if (n == 2)
    exit (0);
  delaycb (0, 1000, wrap (timer, n + 1));
}

int
main (int argc, char *argv[])
{
  setprogname (argv[0]);
  conf_t c;
  str file (strbuf ("/tmp/settings.%d", int (getpid ())));
  if (!str2file (file, "AcceptDelay 3\nSelectPolicy select\n"))
    fatal << file << ": cannot write\n";
  printf ("%d\n", c.parse (file));
  unlink (file);
  printf ("%s\n", c.args ().cstr ());
  child (c.args ());
  delaycb (1, 0, wrap (timer, 9));
  timer (0);
  amain ();
}

/* prints
1
sel=1
timer 0
timer 1
timer 2
*/
