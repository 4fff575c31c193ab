/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_WRAP_H
#define LIBASYNC_WRAP_H

/*
 * wrap and cwrap. Programs include callback.h, which describes them.
 *
 * A wrapped<> is the callback: a Call, which holds the function or the object and its method, and the bound values.
 * For a function that is not overloaded, one template with a pack of parameters would do. The compiler cannot choose
 * among overloaded functions for a pack, but for a list of N parameters it can; hence one template for each N.
 */
#include "libasync_block.h"
#include "libasync_callback.h"
#include "libasync_forward.h"

namespace libasync
{

template <class... T> struct types {
};

/* The first K of a list of types, and the others. */
template <size_t K, class Head, class Tail, bool is_done = K == 0> struct split;

template <size_t K, class... H, class... T> struct split<K, types<H...>, types<T...>, true> {
	typedef types<H...> first;
	typedef types<T...> rest;
};

template <size_t K, class... H, class T0, class... T>
struct split<K, types<H...>, types<T0, T...>, false> : split<K - 1, types<H..., T0>, types<T...>> {
};

/* ---------------------------------------------------------------- bound values */

template <class T, class A>
inline constexpr bool is_null = std::is_same_v<A, null_number> && !std::is_arithmetic_v<T> && !std::is_enum_v<T> &&
				std::is_constructible_v<T, std::nullptr_t> && !std::is_constructible_v<T, null_number>;

/* A literal for a parameter that should have been const. */
template <class T, class A>
inline constexpr bool is_literal =
	std::conjunction_v<std::is_same<T, char *>, std::is_convertible<A, const char *>,
			   std::is_array<std::remove_reference_t<A>>>;

template <class T, class A>
inline constexpr bool fits = std::is_constructible_v<T, A &&> || is_null<T, A> || is_literal<T, A>;

LIBASYNC_EXPORT void check_null(long value);		/* ends the program if it is not 0 */

/* A T made from a bound value. */
template <class T, class A> inline T fit(A &&a)
{
	if constexpr (std::is_constructible_v<T, A &&>) {
		return T(std::forward<A>(a));
	} else if constexpr (is_literal<T, A>) {
		return const_cast<char *>(static_cast<const char *>(a));
	} else if constexpr (is_null<T, A>) {
		check_null(a);
		return T(nullptr);
	} else {
		__builtin_trap();	/* check_fits has said so */
	}
}

template <size_t N, class P, class A> constexpr bool check_fits()
{
	constexpr bool ok = fits<std::decay_t<P>, A>;

	static_assert(N != 1 || ok, "wrap: argument 1 does not fit parameter 1 of the function");
	static_assert(N != 2 || ok, "wrap: argument 2 does not fit parameter 2 of the function");
	static_assert(N != 3 || ok, "wrap: argument 3 does not fit parameter 3 of the function");
	static_assert(N != 4 || ok, "wrap: argument 4 does not fit parameter 4 of the function");
	static_assert(N != 5 || ok, "wrap: argument 5 does not fit parameter 5 of the function");
	static_assert(N != 6 || ok, "wrap: argument 6 does not fit parameter 6 of the function");
	static_assert(N != 7 || ok, "wrap: argument 7 does not fit parameter 7 of the function");
	static_assert(N != 8 || ok, "wrap: argument 8 does not fit parameter 8 of the function");
	static_assert(N <= 8 || ok, "wrap: an argument after the eighth does not fit its parameter");
	return ok;
}

template <class... P, class... A, size_t... Index>
constexpr bool check_all(types<P...>, types<A...>, std::index_sequence<Index...>)
{
	return (check_fits<Index + 1, P, A>() && ...);
}

template <size_t Index, class T> struct bound_value {
	T value;

	template <class A> explicit bound_value(A &&a) : value(fit<T>(std::forward<A>(a))) {}
};

/* How a bound value is passed: a callback may be called again, so it is moved only where it cannot be copied. */
template <class P, class T> inline decltype(auto) pass(T &value)
{
	if constexpr (std::is_rvalue_reference_v<P> || (!std::is_reference_v<P> && !std::is_copy_constructible_v<T>))
		return std::move(value);
	else
		return (value);
}

template <class... A> using if_forwarded = std::enable_if_t<!should_be_const<A...>>;
template <class... A> using if_numbers = std::enable_if_t<(is_number<A> || ...)>;

/* ---------------------------------------------------------------- what is called */

template <class R, class... P> struct function_call {
	R (*function)(P...);

	template <class... Arg> R operator()(Arg &&...x) { return function(std::forward<Arg>(x)...); }
};

/* How an object is kept: what is counted, is held. */
template <class Obj> struct kept {
	typedef Obj type;
};

template <class T, reftype v> struct kept<refcounted<T, v> *> {
	typedef ::ref<T> type;
};

template <class Obj, class Method, class R> struct method_call {
	typename kept<Obj>::type object;
	Method method;

	template <class A> method_call(A &&o, Method m) : object(std::forward<A>(o)), method(m) {}
	template <class... Arg> R operator()(Arg &&...x) { return ((*object).*method)(std::forward<Arg>(x)...); }
};

template <class F, class R> struct object_call {
	F object;

	template <class... Arg> R operator()(Arg &&...x) { return object(std::forward<Arg>(x)...); }
};

/* ---------------------------------------------------------------- the callback */

template <class Call, class R, class Bound, class Open, class Index> class wrapped;

template <class Call, class R, class... P, class... B, size_t... Index>
class wrapped<Call, R, types<P...>, types<B...>, std::index_sequence<Index...>>
    : public callback<R, B...>, public block_object, private bound_value<Index, std::decay_t<P>>...
{
	Call call;

	/* Deleted as what it is: no other class derives from refcounted<wrapped>. */
	void finalize() override { delete static_cast<refcounted<wrapped> *>(this); }

public:
	template <class... A>
	wrapped(color c, Call &&how, A &&...a)
	    : callback<R, B...>(c), bound_value<Index, std::decay_t<P>>(std::forward<A>(a))..., call(std::move(how))
	{
	}

	R operator()(B... b) override
	{
		return call(pass<P>(static_cast<bound_value<Index, std::decay_t<P>> &>(*this).value)...,
			    std::forward<B>(b)...);
	}
};

/* A call that waits for its color: the callback, errno and the arguments. It runs once. */
template <class R, class... B> class triggered : public callback<void>, public block_object
{
	template <class T>
	using stored = std::conditional_t<std::is_lvalue_reference_v<T> && !std::is_const_v<std::remove_reference_t<T>>,
					  T, std::decay_t<T>>;

	::ref<callback_base<R, B...>> cb;
	int error;
	std::tuple<stored<B>...> args;

public:
	template <class... A>
	explicit triggered(callback_base<R, B...> *which, A &&...a)
	    : callback<void>(which->get_color()), cb(mkref(which)), error(errno), args(std::forward<A>(a)...)
	{
	}

	void operator()() override
	{
		errno = error;
		std::apply([this](auto &...a) { (void)(*cb)(static_cast<B &&>(a)...); }, args);
	}
};

/* ---------------------------------------------------------------- making one */

/* How many of cwrap's arguments are values: the last one may be the color. */
template <class... A> struct last_is_color : std::false_type {
};

template <class A> struct last_is_color<A> : std::is_same<std::decay_t<A>, color> {
};

template <class A0, class A1, class... A> struct last_is_color<A0, A1, A...> : last_is_color<A1, A...> {
};

template <class... A> inline constexpr size_t values_num = sizeof...(A) - (last_is_color<A...>::value ? 1 : 0);

template <class R, class... P, class Call, class... A>
inline auto make(types<P...>, color c, Call &&call, A &&...a)
{
	static_assert(sizeof...(A) <= sizeof...(P), "wrap: there are more arguments than the function has parameters");
	if constexpr (sizeof...(A) <= sizeof...(P)) {
		typedef split<sizeof...(A), types<>, types<P...>> parts;
		typedef std::make_index_sequence<sizeof...(A)> index;

		if constexpr (check_all(typename parts::first(), types<A...>(), index())) {
			typedef wrapped<std::decay_t<Call>, R, typename parts::first, typename parts::rest, index>
				object;

			return new refcounted<object>(c, std::move(call), std::forward<A>(a)...);
		}
	}
}

/* The same with a tuple whose first values are bound. */
template <class R, class... P, class Call, class Tuple, size_t... Index>
inline auto make_first(types<P...> params, color c, Call &&call, Tuple &&a, std::index_sequence<Index...>)
{
	return make<R>(params, c, std::move(call), std::get<Index>(std::move(a))...);
}

template <class R, class... P, class Call, class... A>
inline auto make_colored(types<P...> params, Call &&call, A &&...a)
{
	if constexpr (last_is_color<A...>::value) {
		auto all = std::forward_as_tuple(std::forward<A>(a)...);

		return make_first<R>(params, std::get<sizeof...(A) - 1>(all), std::move(call), std::move(all),
				     std::make_index_sequence<sizeof...(A) - 1>());
	} else {
		return make<R>(params, color(), std::move(call), std::forward<A>(a)...);
	}
}

template <class R, class Obj, class Method> inline auto method_of(Obj &&object, Method method)
{
	return method_call<std::decay_t<Obj>, Method, R>(std::forward<Obj>(object), method);
}

/* What the parameters of a callable object are, if it has one operator () that is no template. */
template <class Method> struct call_traits;

template <class R, class C, class... P> struct call_traits<R (C::*)(P...)> {
	typedef R result;
	typedef types<P...> params;
};

template <class R, class C, class... P> struct call_traits<R (C::*)(P...) const> : call_traits<R (C::*)(P...)> {
};

template <class R, class C, class... P> struct call_traits<R (C::*)(P...) noexcept> : call_traits<R (C::*)(P...)> {
};

template <class R, class C, class... P>
struct call_traits<R (C::*)(P...) const noexcept> : call_traits<R (C::*)(P...)> {
};

/* Otherwise all of its parameters are bound. */
template <class F, class Void, class... A> struct object_traits {
	typedef std::invoke_result_t<F &, std::decay_t<A> &...> result;
	typedef types<std::decay_t<A>...> params;
};

template <class F, class... A>
struct object_traits<F, std::void_t<decltype(&F::operator())>, A...> : call_traits<decltype(&F::operator())> {
};

/* Is it a call of an object, not of an object's method? */
template <class F, class... A> struct is_object_call : std::is_class<std::decay_t<F>> {
};

template <class F, class Method, class... A>
struct is_object_call<F, Method, A...>
    : std::bool_constant<std::is_class_v<std::decay_t<F>> && !std::is_member_pointer_v<std::decay_t<Method>>> {
};

template <size_t N, size_t K> using if_at_most_three_open = std::enable_if_t<K <= N && N - K <= 3>;

} // namespace libasync

/* The templates of wrap and cwrap follow twice: once with forwarded values, once with values by const reference. */
#define LIBASYNC_FORWARDED(a) std::forward<A>(a)...
#define LIBASYNC_CONSTANT(a) a...

/* ---------------------------------------------------------------- functions, callable objects, methods */

#define LIBASYNC_WRAP(REF, IF, PASS) \
	template <class R, class... P, class... A, class = libasync::IF<A...>> \
	inline auto wrap(R (*f)(P...), REF...a) \
	{ \
		return libasync::make<R>(libasync::types<P...>(), color(), libasync::function_call<R, P...>{ f }, \
			PASS(a)); \
	} \
	template <class R, class... P, class... A, class = libasync::IF<A...>> \
	inline auto cwrap(R (*f)(P...), REF...a) \
	{ \
		return libasync::make_colored<R>(libasync::types<P...>(), libasync::function_call<R, P...>{ f }, \
			PASS(a)); \
	} \
	template <class F, class... A, class = libasync::IF<A...>, \
		class = std::enable_if_t<libasync::is_object_call<F, A...>::value>> \
	inline auto wrap(F &&f, REF...a) \
	{ \
		typedef std::decay_t<F> object; \
		typedef libasync::object_traits<object, void, A...> traits; \
		typedef libasync::object_call<object, typename traits::result> call; \
 \
		return libasync::make<typename traits::result>(typename traits::params(), color(), \
			call{ std::forward<F>(f) }, PASS(a)); \
	} \
	template <class F, class... A, class = libasync::IF<A...>, \
		class = std::enable_if_t<libasync::is_object_call<F, A...>::value>, class = void> \
	inline auto cwrap(F &&f, REF...a) \
	{ \
		typedef std::decay_t<F> object; \
		typedef libasync::object_traits<object, void, A...> traits; \
		typedef libasync::object_call<object, typename traits::result> call; \
 \
		return libasync::make_colored<typename traits::result>(typename traits::params(), \
			call{ std::forward<F>(f) }, PASS(a)); \
	} \
	LIBASYNC_WRAP_METHODS(REF, IF, PASS, ) \
	LIBASYNC_WRAP_METHODS(REF, IF, PASS, const)

#define LIBASYNC_WRAP_METHODS(REF, IF, PASS, CONST) \
	template <class Obj, class R, class C, class... P, class... A, class = libasync::IF<A...>> \
	inline auto wrap(Obj &&o, R (C::*m)(P...) CONST, REF...a) \
	{ \
		return libasync::make<R>(libasync::types<P...>(), color(), \
			libasync::method_of<R>(std::forward<Obj>(o), m), PASS(a)); \
	} \
	template <class Obj, class R, class C, class... P, class... A, class = libasync::IF<A...>> \
	inline auto cwrap(Obj &&o, R (C::*m)(P...) CONST, REF...a) \
	{ \
		return libasync::make_colored<R>(libasync::types<P...>(), \
			libasync::method_of<R>(std::forward<Obj>(o), m), PASS(a)); \
	}

LIBASYNC_WRAP(A &&, if_forwarded, LIBASYNC_FORWARDED)
LIBASYNC_WRAP(const A &, if_numbers, LIBASYNC_CONSTANT)

/* ---------------------------------------------------------------- overloaded functions and methods */

namespace libasync
{

template <class R, class... P> inline types<P...> types_of(R (*)(P...))
{
	return types<P...>();
}

template <class R, class C, class... P> inline types<P...> types_of(R (C::*)(P...))
{
	return types<P...>();
}

template <class R, class C, class... P> inline types<P...> types_of(R (C::*)(P...) const)
{
	return types<P...>();
}

template <class R, class... P> inline function_call<R, P...> function_of(R (*f)(P...))
{
	return function_call<R, P...>{ f };
}

} // namespace libasync

/* For `num` parameters: TYPES declares their types, LIST is a list of them. */
#define LIBASYNC_WRAP_PARAMS(num, TYPES, LIST) \
	LIBASYNC_WRAP_LIST(A &&, if_forwarded, LIBASYNC_FORWARDED, num, LIST, TYPES) \
	LIBASYNC_WRAP_LIST(const A &, if_numbers, LIBASYNC_CONSTANT, num, LIST, TYPES)

#define LIBASYNC_WRAP_LIST(REF, IF, PASS, num, LIST, ...) \
	template <class R __VA_ARGS__, class... A, class = libasync::if_at_most_three_open<num, sizeof...(A)>, \
		class = libasync::IF<A...>> \
	inline auto wrap(R (*f) LIST, REF...a) \
	{ \
		return libasync::make<R>(libasync::types_of(f), color(), libasync::function_of(f), PASS(a)); \
	} \
	template <class R __VA_ARGS__, class... A, \
		class = libasync::if_at_most_three_open<num, libasync::values_num<A...>>, class = libasync::IF<A...>> \
	inline auto cwrap(R (*f) LIST, REF...a) \
	{ \
		return libasync::make_colored<R>(libasync::types_of(f), libasync::function_of(f), PASS(a)); \
	} \
	LIBASYNC_WRAP_METHOD(REF, IF, PASS, , num, LIST, __VA_ARGS__) \
	LIBASYNC_WRAP_METHOD(REF, IF, PASS, const, num, LIST, __VA_ARGS__)

#define LIBASYNC_WRAP_METHOD(REF, IF, PASS, CONST, num, LIST, ...) \
	template <class Obj, class R, class C __VA_ARGS__, class... A, \
		class = libasync::if_at_most_three_open<num, sizeof...(A)>, class = libasync::IF<A...>> \
	inline auto wrap(Obj &&o, R (C::*m) LIST CONST, REF...a) \
	{ \
		return libasync::make<R>(libasync::types_of(m), color(), \
			libasync::method_of<R>(std::forward<Obj>(o), m), PASS(a)); \
	} \
	template <class Obj, class R, class C __VA_ARGS__, class... A, \
		class = libasync::if_at_most_three_open<num, libasync::values_num<A...>>, class = libasync::IF<A...>> \
	inline auto cwrap(Obj &&o, R (C::*m) LIST CONST, REF...a) \
	{ \
		return libasync::make_colored<R>(libasync::types_of(m), \
			libasync::method_of<R>(std::forward<Obj>(o), m), PASS(a)); \
	}

#define LIBASYNC_TYPES_0
#define LIBASYNC_TYPES_1 , class P1
#define LIBASYNC_TYPES_2 LIBASYNC_TYPES_1, class P2
#define LIBASYNC_TYPES_3 LIBASYNC_TYPES_2, class P3
#define LIBASYNC_TYPES_4 LIBASYNC_TYPES_3, class P4
#define LIBASYNC_TYPES_5 LIBASYNC_TYPES_4, class P5
#define LIBASYNC_TYPES_6 LIBASYNC_TYPES_5, class P6
#define LIBASYNC_TYPES_7 LIBASYNC_TYPES_6, class P7
#define LIBASYNC_TYPES_8 LIBASYNC_TYPES_7, class P8
#define LIBASYNC_TYPES_9 LIBASYNC_TYPES_8, class P9
#define LIBASYNC_TYPES_10 LIBASYNC_TYPES_9, class P10
#define LIBASYNC_TYPES_11 LIBASYNC_TYPES_10, class P11
#define LIBASYNC_LIST_0
#define LIBASYNC_LIST_1 P1
#define LIBASYNC_LIST_2 LIBASYNC_LIST_1, P2
#define LIBASYNC_LIST_3 LIBASYNC_LIST_2, P3
#define LIBASYNC_LIST_4 LIBASYNC_LIST_3, P4
#define LIBASYNC_LIST_5 LIBASYNC_LIST_4, P5
#define LIBASYNC_LIST_6 LIBASYNC_LIST_5, P6
#define LIBASYNC_LIST_7 LIBASYNC_LIST_6, P7
#define LIBASYNC_LIST_8 LIBASYNC_LIST_7, P8
#define LIBASYNC_LIST_9 LIBASYNC_LIST_8, P9
#define LIBASYNC_LIST_10 LIBASYNC_LIST_9, P10
#define LIBASYNC_LIST_11 LIBASYNC_LIST_10, P11

LIBASYNC_WRAP_PARAMS(0, LIBASYNC_TYPES_0, (LIBASYNC_LIST_0))
LIBASYNC_WRAP_PARAMS(1, LIBASYNC_TYPES_1, (LIBASYNC_LIST_1))
LIBASYNC_WRAP_PARAMS(2, LIBASYNC_TYPES_2, (LIBASYNC_LIST_2))
LIBASYNC_WRAP_PARAMS(3, LIBASYNC_TYPES_3, (LIBASYNC_LIST_3))
LIBASYNC_WRAP_PARAMS(4, LIBASYNC_TYPES_4, (LIBASYNC_LIST_4))
LIBASYNC_WRAP_PARAMS(5, LIBASYNC_TYPES_5, (LIBASYNC_LIST_5))
LIBASYNC_WRAP_PARAMS(6, LIBASYNC_TYPES_6, (LIBASYNC_LIST_6))
LIBASYNC_WRAP_PARAMS(7, LIBASYNC_TYPES_7, (LIBASYNC_LIST_7))
LIBASYNC_WRAP_PARAMS(8, LIBASYNC_TYPES_8, (LIBASYNC_LIST_8))
LIBASYNC_WRAP_PARAMS(9, LIBASYNC_TYPES_9, (LIBASYNC_LIST_9))
LIBASYNC_WRAP_PARAMS(10, LIBASYNC_TYPES_10, (LIBASYNC_LIST_10))
LIBASYNC_WRAP_PARAMS(11, LIBASYNC_TYPES_11, (LIBASYNC_LIST_11))

#undef LIBASYNC_TYPES_0
#undef LIBASYNC_LIST_0
#undef LIBASYNC_TYPES_1
#undef LIBASYNC_LIST_1
#undef LIBASYNC_TYPES_2
#undef LIBASYNC_LIST_2
#undef LIBASYNC_TYPES_3
#undef LIBASYNC_LIST_3
#undef LIBASYNC_TYPES_4
#undef LIBASYNC_LIST_4
#undef LIBASYNC_TYPES_5
#undef LIBASYNC_LIST_5
#undef LIBASYNC_TYPES_6
#undef LIBASYNC_LIST_6
#undef LIBASYNC_TYPES_7
#undef LIBASYNC_LIST_7
#undef LIBASYNC_TYPES_8
#undef LIBASYNC_LIST_8
#undef LIBASYNC_TYPES_9
#undef LIBASYNC_LIST_9
#undef LIBASYNC_TYPES_10
#undef LIBASYNC_LIST_10
#undef LIBASYNC_TYPES_11
#undef LIBASYNC_LIST_11
#undef LIBASYNC_WRAP_PARAMS
#undef LIBASYNC_WRAP_LIST
#undef LIBASYNC_WRAP_METHOD
#undef LIBASYNC_WRAP_METHODS
#undef LIBASYNC_WRAP
#undef LIBASYNC_FORWARDED
#undef LIBASYNC_CONSTANT

#endif
