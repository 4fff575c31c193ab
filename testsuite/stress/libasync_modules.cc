/*
 * Strings, patterns, containers, callbacks and the loop, from eight colors at once. What the library shares between the
 * colors is its own business: the tests share static strings, patterns and callbacks as programs do.
 */
#include <algorithm>

#include "libasync_tenants.h"

#include "alog2.h"
#include "arena.h"
#include "backoff.h"
#include "bbuddy.h"
#include "bitvec.h"
#include "cbuf.h"
#include "dynenum.h"
#include "err.h"
#include "ihash.h"
#include "itree.h"
#include "list.h"
#include "parseopt.h"
#include "qhash.h"
#include "rclist.h"
#include "rctailq.h"
#include "rctree.h"
#include "rxx.h"
#include "serial.h"
#include "union.h"
#include "vec.h"
#include "wide_str.h"

/* ---------------------------------------------------------------- strings and text */

static const str shared("a string that all colors share, longer than what is copied into a buffer, "
			"that is, longer than 128 bytes, so that buffers hold on to it");

static void strings(tenant *t)
{
	tenant::entered in(t);
	strbuf sb("%u ", t->number);
	str s;
	u_int n;

	sb << shared << " " << hexdump("x", 1) << " " << shared;
	s = sb;
	CHECK(s.len() == 2 + 2 * shared.len() + 4);
	CHECK(substr(s, 2, shared.len()) == shared);
	CHECK(dearmor64(armor64(s)) == s);
	CHECK(dearmor32(armor32(shared)) == shared);
	CHECK(convertint(substr(s, 0, 1), &n) && n == t->number);
	t->next();
}

static rxx words("(\\w+) (\\w+)");
static rxx commas(",\\s*");

static void patterns(tenant *t)
{
	tenant::entered in(t);
	str line = strbuf() << "tenant " << t->number << ", x,y, " << shared;
	vec<str> parts;

	CHECK(words.search(line));
	CHECK(words[1] == "tenant" && words[2] == str(strbuf() << t->number));
	CHECK(split(&parts, commas, line, 4) == 4);
	CHECK(parts[2] == "y" && substr(line, 7, 1) == str(strbuf() << t->number));
	CHECK(words[2] == str(strbuf() << t->number));
	CHECK(line / "tenant (\\d)");
	t->next();
}

/* Shared by all colors, as programs have them. */
static const wide_str_t shared_wide("\xc3\xa4rger und \xe2\x82\xac");
static const dynamic_enum_t::pair_t animals[] = { { "cat", 1 }, { "dog", 2 }, { NULL, 0 } };

struct animal_enum : dynamic_enum_t {
	animal_enum() : dynamic_enum_t(0, true, "animal") { init(animals); }
};

static const animal_enum animal;

static void names_and_logs(tenant *t)
{
	tenant::entered in(t);
	wide_str_t own = shared_wide, part = own.substr(0, 5);
	logger2_t log(V_ERR);

	own.chop(0, 1);
	CHECK(own.utf8() == "\xc3\xa4" && part.utf8() == "\xc3\xa4rger" && shared_wide.len() == 11);
	CHECK(utf8_substr(shared_wide.utf8(), 10) == "\xe2\x82\xac");
	CHECK(animal["dog"] == 2 && animal["cow"] == 0);
	log.log(V_DEBUG) << "never of " << t->number << "\n";
	log.log(V_ERR) << "tenant " << t->number << ", " << shared << "\n";
	log.log(V_ERR, "tenant %u", t->number);
	t->next();
}

static str folder;

static void files(tenant *t)
{
	tenant::entered in(t);
	str path = strbuf() << folder << "/tenant" << t->number;
	str text = strbuf() << "number " << t->number << "\nname \"" << shared << "\"\n";
	u_int number = 99;
	str name;
	conftab ct;

	CHECK(str2file(path, text));
	CHECK(file2str(path) == text);
	ct.add("number", &number, 0, 10).add("name", &name);
	CHECK(ct.run(path));
	CHECK(number == t->number && name == shared);
	CHECK(unlink(path) == 0);
	t->next();
}

/* ---------------------------------------------------------------- containers */

struct element : public virtual refcount {
	int key;
	ihash_entry<element> hash_link;
	itree_entry<element> tree_link;
	tailq_entry<element> list_link;
	rctree_entry_t<int, element> counted_link;
	rclist_entry_t<element> counted_list_link;
	rctailq_entry_t<element> counted_queue_link;

	explicit element(int k) : key(k) {}
};

static void counted_containers(tenant *t)
{
	tenant::entered in(t);
	rclist_t<element, &element::counted_list_link> list;
	rctailq_t<element, &element::counted_queue_link> queue;
	bhash<str> set;
	union {
		union_entry_base all;
		union_entry<str> text;
		union_entry<vec<str>> texts;
	};

	all.init();
	text.select();
	*text = shared;
	CHECK(text->len() == shared.len());
	texts.select();
	for (int i = 0; i < 50; i++) {
		ptr<element> e = New refcounted<element>(i);

		list.insert_head(e);
		queue.insert_tail(e);
		set.insert(strbuf() << i);
		texts->push_back(shared);
	}
	all.destroy();
	CHECK(set["49"] && !set["50"]);
	CHECK(list.first()->key == 49 && queue.last()->key == 49);
	list.remove(queue.last());
	CHECK(list.first()->key == 48);
	t->next();
}

static void containers(tenant *t)
{
	tenant::entered in(t);
	ihash<int, element, &element::key, &element::hash_link> hash;
	itree<int, element, &element::key, &element::tree_link> tree;
	tailq<element, &element::list_link> list;
	rctree_t<int, element, &element::key, &element::counted_link> counted;
	vec<ref<element>> all;
	qhash<str, ref<element>> names;
	arena a;
	bbuddy bb(1 << 16, 16, 1 << 12);
	bitvec bits(100);

	for (int i = 0; i < 100; i++) {
		ref<element> e = New refcounted<element>(i * 7 % 100);

		all.push_back(e);
		hash.insert(e);
		tree.insert(e);
		list.insert_tail(e);
		counted.insert(e);
		names.insert(strbuf() << e->key, e);
		CHECK(a.alloc(i + 1) != NULL);
		CHECK(bb.alloc(64) >= 0);
		bits[e->key] = true;
	}
	CHECK(hash[42] == tree[42] && counted[42] == names["42"] && tree.next(tree[42])->key == 43);
	CHECK(bits.find(0, false) == 100);
	while (element *e = list.first) {
		list.remove(e);
		tree.remove(e);
		hash.remove(e);
	}
	CHECK(hash.size() == 0 && tree.root() == NULL);
	t->next();
}

/* ---------------------------------------------------------------- counts and callbacks */

static const ref<element> shared_element = New refcounted<element>(5);

static void copy_shared()
{
	vec<ref<element>> copies;
	ptr<element> p;

	for (int i = 0; i < 20; i++)
		copies.push_back(shared_element);
	p = copies.back();
	copies.clear();
	CHECK(p->key == 5);
}

/* An object goes round: each color uses and copies it, and some color drops it last. */
static void go_round(tenant *t, ref<element> e, unsigned left, tenant *home)
{
	CHECK(libasync::is_own_color(t->own.value()));
	e->key++;
	if (left > 0)
		cpucb(cwrap(go_round, t->neighbour(), e, left - 1, home, t->neighbour()->own));
	else
		cpucb(cwrap(home, &tenant::next, home->own));
}

static void counts(tenant *t)
{
	tenant::entered in(t);

	copy_shared();
	go_round(t, New refcounted<element>(0), 20, t);
}

static void told(tenant *t, int number, str text)
{
	tenant::entered in(t);

	CHECK(errno == 1000 + number);
	CHECK(text == shared && number == int(t->number));
	t->next();
}

static void trigger_own(callback<void, int, str>::ref cb, int number)
{
	errno = 1000 + number;
	cb->trigger(number, shared);
}

static void triggers(tenant *t)
{
	callback<void, int, str>::ref cb = cwrap(told, t, t->own);

	CHECK(cb->get_color() == t->own);
	cpucb(cwrap(trigger_own, cb, t->number, t->neighbour()->own));
}

/* ---------------------------------------------------------------- the loop */

static void at_end(tenant *t)
{
	tenant::entered in(t);

	t->next();
}

static void in_order(tenant *t, unsigned number)
{
	tenant::entered in(t);

	CHECK(t->count == number);
	if (++t->count == 10)
		cpucb_tail(cwrap(at_end, t, t->own));
}

static void posts(tenant *t)
{
	tenant::entered in(t);

	t->count = 0;
	for (unsigned i = 0; i < 10; i++)
		cpucb(cwrap(in_order, t, i, t->own));
}

static void never()
{
	CHECK(!"called after its removal");
}

struct watch {
	tenant *t;
	int fds[2];

	explicit watch(tenant *tt);
	~watch();
	void readable();
	void writable();
};

watch::watch(tenant *tt) : t(tt)
{
	CHECK(pipe(fds) == 0);
	fdcb(fds[0], selread, cwrap(this, &watch::readable, t->own));
	fdcb(fds[1], selwrite, cwrap(this, &watch::writable, t->own));
}

watch::~watch()
{
	close(fds[0]);
	close(fds[1]);
}

void watch::writable()
{
	tenant::entered in(t);

	fdcb(fds[1], selwrite, NULL);
	CHECK(write(fds[1], "x", 1) == 1);
}

void watch::readable()
{
	tenant::entered in(t);
	char c;

	CHECK(read(fds[0], &c, 1) == 1 && c == 'x');
	fdcb(fds[0], selread, NULL);
	t->next();
	delete this;
}

static void descriptors(tenant *t)
{
	vNew watch(t);
}

/* Another color reads, until this one removes the callback: after that, nobody touches the memory. */
struct foreign {
	int fds[2];
	tenant *owner;
	unsigned runs;
	bool is_removed;

	void readable()
	{
		char c;

		CHECK(!is_removed);
		runs++;
		CHECK(read(fds[0], &c, 1) <= 1);
	}
};

static void remove_foreign(foreign *f)
{
	tenant *t = f->owner;

	libasync::fdcb_remove_and_wait(f->fds[0], selread);
	f->is_removed = true;
	close(f->fds[0]);
	close(f->fds[1]);
	delete f;
	t->next();
}

static void removals(tenant *t)
{
	tenant::entered in(t);
	foreign *f = New foreign;

	f->owner = t;
	f->runs = 0;
	f->is_removed = false;
	CHECK(pipe2(f->fds, O_NONBLOCK) == 0);
	CHECK(write(f->fds[1], "xxxx", 4) == 4);
	fdcb(f->fds[0], selread, cwrap(f, &foreign::readable, t->neighbour()->own));
	cpucb(cwrap(remove_foreign, f, t->own));
}

static void timer(tenant *t)
{
	tenant::entered in(t);

	if (--t->count == 0)
		t->next();
}

static void timers(tenant *t)
{
	tenant::entered in(t);
	timespec past = {};

	t->count = 3;
	timecb_remove(delaycb(3600, wrap(never)));
	timecb_remove(delaycb(3600, cwrap(never, t->own)));
	CHECK(libasync::timer_cancel(delaycb(3600, cwrap(never, t->neighbour()->own))));
	delaycb(0, cwrap(timer, t, t->own));
	delaycb(0, 100000, cwrap(timer, t, t->own));
	timecb(past, cwrap(timer, t, t->own));
}

/* Sent at once and no more: the answer is there. The queue has its timers in the tenant's color. */
struct request {
	tenant *t;
	tmoq_entry<request> link;

	void xmit(int sendno);
	void timeout() { never(); }
};

static tmoq<request, &request::link, 3600> requests[tenants_num];

static void answered(request *r)
{
	tenant *t = r->t;
	tenant::entered in(t);

	requests[t->number].remove(r);
	delete r;
	t->next();
}

void request::xmit(int sendno)
{
	CHECK(sendno == 0);
	cpucb(cwrap(answered, this, t->own));
}

static void resends(tenant *t)
{
	tenant::entered in(t);
	request *r = New request;

	r->t = t;
	requests[t->number].start(r);
}

static void yields(tenant *t)
{
	yieldcb_remove(yieldcb(cwrap(never, t->own)));
	lazycb_remove(lazycb(3600, cwrap(cbv_null, t->own)));
	yieldcb(cwrap(at_end, t, t->own));
}

static void signalled(tenant *t)
{
	tenant::entered in(t);

	sigcb(SIGRTMIN + int(t->number), cwrap(never, t->own));
	t->next();
}

static void signals(tenant *t)
{
	sigcb(SIGRTMIN + int(t->number), cwrap(signalled, t, t->own));
	CHECK(kill(getpid(), SIGRTMIN + int(t->number)) == 0);
}

static const job_fn jobs[] = { strings,	 patterns, names_and_logs, files,	counts,	 containers, counted_containers,
			       triggers, posts,	   descriptors,	   removals,	timers,	 resends,    yields,
			       signals };

/* The argument: how many colors there are. */
int main(int argc, char **argv)
{
	char path[] = "/tmp/libasync_modules.XXXXXX";

	(void)argc;
	setprogname(argv[0]);
	errfd = open("/dev/null", O_WRONLY);
	CHECK(errfd >= 0);
	folder = mkdtemp(path);
	CHECK(folder);
	atexit([] { rmdir(folder); });
	tenants_run(jobs, 200, argv[1]);
}
