/*
 * What callbacks and counts cost: make, call and free one, beside std::function with the same captures.
 *
 * usage: callback SHAPE NUM
 */
#include "callback.h"

#include <functional>
#include <memory>
#include <vector>

#include "shapes.h"

namespace
{

volatile long total;

OPAQUE void one(long a)
{
	total = total + a;
}

OPAQUE void four(long a, long b, long c, long d)
{
	total = total + a + b + c + d;
}

struct object : virtual refcount {
	long value = 0;
	OPAQUE void method(long a) { value += a; }
};

/* Whoever calls does not know which function it is. */
template <class F> OPAQUE void call(F &f)
{
	f();
}

template <class F> OPAQUE void call_one(F &f, long a)
{
	f(a);
}

/* A std::function with one reference count. */
typedef std::shared_ptr<std::function<void()>> shared_function;

void run_wrap1(long num)
{
	for (long i = 0; i < num; i++) {
		cbv cb = wrap(one, i);

		call(cb);
	}
}

void run_function1(long num)
{
	for (long i = 0; i < num; i++) {
		void (*f)(long) = one;
		std::function<void()> cb = [f, i] { f(i); };

		call(cb);
	}
}

void run_shared1(long num)
{
	for (long i = 0; i < num; i++) {
		void (*f)(long) = one;
		shared_function cb = std::make_shared<std::function<void()>>([f, i] { f(i); });

		call(*cb);
	}
}

void run_wrap4(long num)
{
	for (long i = 0; i < num; i++) {
		cbv cb = wrap(four, i, i, i, i);

		call(cb);
	}
}

void run_function4(long num)
{
	for (long i = 0; i < num; i++) {
		void (*f)(long, long, long, long) = four;
		std::function<void()> cb = [f, a = i, b = i, c = i, d = i] { f(a, b, c, d); };

		call(cb);
	}
}

void run_wrap_method(long num)
{
	ref<object> o = New refcounted<object>;

	for (long i = 0; i < num; i++) {
		callback<void, long>::ref cb = wrap(o, &object::method);

		call_one(cb, i);
	}
}

void run_function_method(long num)
{
	ref<object> o = New refcounted<object>;

	for (long i = 0; i < num; i++) {
		void (object::*m)(long) = &object::method;
		std::function<void(long)> cb = [o, m](long a) { ((*o).*m)(a); };

		call_one(cb, i);
	}
}

void run_call_wrap(long num)
{
	cbv cb = wrap(one, 1);

	for (long i = 0; i < num; i++)
		call(cb);
}

void run_call_function(long num)
{
	void (*f)(long) = one;
	std::function<void()> cb = [f] { f(1); };

	for (long i = 0; i < num; i++)
		call(cb);
}

/* A loop full of counts: sorting a list of references by swapping copies. */
template <class P> OPAQUE void shuffle(std::vector<P> &v)
{
	for (size_t i = 1; i < v.size(); i++) {
		P p = v[i];

		v[i] = v[i - 1];
		v[i - 1] = p;
	}
}

void run_count(long num)
{
	std::vector<ptr<object>> v(100);

	for (auto &p : v)
		p = New refcounted<object>;
	for (long i = 0; i < num; i++)
		shuffle(v);
}

/* The same with a count that is never atomic. */
struct plain {
	long value = 0;
	uint32_t num = 0;
	virtual ~plain() {}
	virtual OPAQUE void finalize() { delete this; }
};

struct plain_ptr {
	plain *p = nullptr, *c = nullptr;

	plain_ptr() {}
	plain_ptr(const plain_ptr &o) : p(o.p), c(o.c)
	{
		if (c != nullptr)
			c->num++;
	}
	static void drop(plain *old) noexcept
	{
		if (old != nullptr && --old->num == 0)
			old->finalize();
	}
	plain_ptr &operator=(const plain_ptr &o)
	{
		plain *old = c;

		if (o.c != nullptr)
			o.c->num++;
		p = o.p;
		c = o.c;
		drop(old);
		return *this;
	}
	~plain_ptr() { drop(c); }
};

void run_count_plain(long num)
{
	std::vector<plain_ptr> v(100);

	for (auto &p : v) {
		p.p = p.c = new plain;
		p.c->num = 1;
	}
	for (long i = 0; i < num; i++)
		shuffle(v);
}

void run_count_shared(long num)
{
	libasync::share_counts();
	run_count(num);
}

const shape shapes[] = {
	{ "wrap1", run_wrap1 },
	{ "function1", run_function1 },
	{ "shared1", run_shared1 },
	{ "wrap4", run_wrap4 },
	{ "function4", run_function4 },
	{ "wrap_method", run_wrap_method },
	{ "function_method", run_function_method },
	{ "call_wrap", run_call_wrap },
	{ "call_function", run_call_function },
	{ "count", run_count },
	{ "count_plain", run_count_plain },
	{ "count_shared", run_count_shared },
};

} // namespace

int main(int argc, char **argv)
{
	return run_shape(shapes, argc, argv);
}
