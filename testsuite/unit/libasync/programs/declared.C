// Callbacks of classes that are declared later, in templates of templates.

#include "callback.h"
#include "refcnt.h"
#include "vec.h"
template <class K, class V> class cache;
class aclnt;
struct rpc_program;
enum clnt_stat
{
  RPC_SUCCESS,
  RPC_FAILED
};
typedef callback<void, clnt_stat>::ref aclnt_cb;
typedef callback<void, ptr<aclnt> >::ref aclnt_ret;
template <class T> struct traits
{
  typedef typename callback<void, ptr<T>, int>::ref cb_t;
  typedef typename callback<void, T>::ptr vcb_t;
  typedef ref<vec<T> > list_t;
};
template <class T> class fetcher : public virtual refcount
{
public:
  typedef typename traits<T>::cb_t cb_t;
  typedef typename callback<void, T>::ref one_t;

protected:
  ptr<T> obj;
  vec<cb_t> waiters;
  virtual void
  done (ptr<T> o, int err)
  {
    obj = o;
    while (!waiters.empty ())
      {
        cb_t c = waiters.pop_front ();
        (*c) (o, err);
      }
  }

public:
  fetcher () {}
  virtual ~fetcher () {}
  void
  get (cb_t cb)
  {
    waiters.push_back (cb);
    if (waiters.size () == 1)
      start (wrap (mkref (this), &fetcher<T>::done));
  }
  virtual void start (cb_t cb) = 0;
  void
  each (one_t c)
  {
    (*c) (*obj);
  }
  static void
  sdone (ref<fetcher<T> > f, int e)
  {
    f->done (NULL, e);
  }
};
class intf : public fetcher<int>
{
  void
  start (cb_t cb)
  {
    (*cb) (New refcounted<int> (3), 0);
  }
};
template <class R, class A>
R
apply (typename callback<R, A>::ref cb, A a)
{
  return (*cb) (a);
}
template <class A, class B> class pair_cb
{
  typename callback<void, A, B>::ptr cb;
  A a;

public:
  pair_cb (typename callback<void, A, B>::ref c) : cb (c), a () {}
  void
  first (A x)
  {
    a = x;
  }
  void
  second (B b)
  {
    (*cb) (a, b);
    cb = NULL;
  }
  typename callback<void, B>::ref
  second_cb ()
  {
    return wrap (this, &pair_cb<A, B>::second);
  }
};
template <class C>
void
call_later (ref<C> c, void (C::*m) (int), int n)
{
  cbv v = wrap (c, m, n);
  (*v) ();
}
template <class C>
void
call_raw (C *c, void (C::*m) ())
{
  cbv v = wrap (c, m);
  (*v) ();
}
template <class T>
static inline void
assign (T *dst, cbv cb, T src)
{
  *dst = src;
  (*cb) ();
}
static int
twice (int a)
{
  return 2 * a;
}
static void
nop ()
{
}
static void
show (int a, const char *b)
{
}
class cls
{
public:
  int n;
  void
  m (int x)
  {
    n = x;
    printf ("%d\n", x);
  }
  void
  z ()
  {
    n = 0;
  }
  template <class T>
  void
  tm (T t)
  {
  }
};
template <class K, class V> class cache
{
public:
  typedef cache<K, V> this_t;
  typedef typename callback<void, K, ptr<V> >::ref miss_t;
  miss_t miss;
  cache (miss_t m) : miss (m) {}
  void
  lookup (K k)
  {
    (*miss) (k, NULL);
  }
  void
  clear ()
  {
  }
  cbv
  clearer ()
  {
    return wrap (this, &this_t::clear);
  }
};
static void
onint (ptr<int> p, int e)
{
  printf ("%d %d\n", *p, e);
}
int
main ()
{
  ref<intf> f = New refcounted<intf>;
  cls *c = New cls;
  ref<cls> rc = New refcounted<cls>;
  call_later (rc, &cls::m, 3);
  call_raw (c, &cls::z);
  int z = apply<int, int> (wrap (twice), 3);
  printf ("%d\n", z);
  pair_cb<int, const char *> pc (wrap (show));
  pc.second_cb ();
  cbv asg = wrap (assign<int>, &z, cbv (wrap (nop)), 3);
  cbi tmi = wrap (c, &cls::tm<int>);
  traits<aclnt>::cb_t *tp = NULL;
  cache<int, aclnt> *cc = NULL;
  fetcher<int>::cb_t fcb = wrap (onint);
  f->get (fcb);
  cbi sd = wrap (&fetcher<int>::sdone, f);
  return 0;
}

/* prints
3
6
3 0
*/
