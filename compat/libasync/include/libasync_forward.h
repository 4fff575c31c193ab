/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_FORWARD_H
#define LIBASYNC_FORWARD_H

/*
 * Which arguments of wrap, cwrap and refcounted<T> are passed on as what they are, and which as constants.
 *
 * Only a reference to const can be bound to a bit-field, and no trait tells a bit-field from another number. So there
 * are two templates for each call: one takes A &&, the other const A &. The second one is meant if some argument may
 * be a bit-field and all others can be copied at no cost. Beside a value that must be moved, as str ("x"), a bit-field
 * does not compile: write +x.bits. Nor does it beside NULL, and so, where pointers have 32 bits, beside any int that is
 * no variable.
 */
#include <type_traits>

namespace libasync
{

/* NULL, when it has passed through a template: it is a number then, as wide as a pointer. */
using null_number = std::conditional_t<sizeof(int) == sizeof(void *), int, long>;

template <class A>
inline constexpr bool is_number = std::is_integral_v<std::remove_cv_t<A>> || std::is_enum_v<std::remove_cv_t<A>>;

/* An argument that was deduced for A &&. */
template <class A>
inline constexpr bool may_be_bits = std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>> &&
				    is_number<std::remove_reference_t<A>>;

/* NULL is looked for by its type, which a constant would not have. */
template <class A>
inline constexpr bool is_moved = !std::is_lvalue_reference_v<A> &&
				 (std::is_same_v<A, null_number> || !std::is_trivially_copyable_v<A> ||
				  !std::is_copy_constructible_v<A>);

template <class... A>
inline constexpr bool should_be_const = (may_be_bits<A> || ...) && !(is_moved<A> || ...);

} // namespace libasync

#endif
