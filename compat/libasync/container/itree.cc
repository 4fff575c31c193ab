/*
 * Red-black trees over links inside the elements.
 *
 * Invariants: the root is black; no red element has a red child; every way from the root to a missing
 * child passes the same number of black elements. A missing child counts as black.
 *
 * Insertion makes the new element red, removal may take a black one out of one way: fix_red and
 * fix_short then walk up, with at most two (three) rotations. Both work for either side: `s` is the
 * side on which something happened, !s the other one.
 */
#include "itree.h"

namespace libasync
{

namespace
{

/* A tree with elements of one type. */
struct tree {
	oc *root;
	ptrdiff_t offset;

	itree_link &operator()(oc n) const
	{
		return *reinterpret_cast<itree_link *>(reinterpret_cast<char *>(n) + offset);
	}

	bool is_red(oc n) const { return n && (*this)(n).state == ITREE_RED; }
	int side_of(oc n, oc parent) const { return (*this)(parent).child[ITREE_RIGHT] == n; }

	/* Where the tree points at `n`. */
	oc &place(oc n) const
	{
		const oc parent = (*this)(n).up;

		return parent ? (*this)(parent).child[side_of(n, parent)] : *root;
	}

	/* `n` goes down to side `s`, its child of the other side takes its place. */
	void rotate(oc n, int s) const
	{
		const tree &at = *this;
		const oc child = at(n).child[!s], middle = at(child).child[s];

		place(n) = child;
		at(child).up = at(n).up;
		at(child).child[s] = n;
		at(n).up = child;
		at(n).child[!s] = middle;
		if (middle)
			at(middle).up = n;
	}

	void fix_red(oc n) const;
	void fix_short(oc parent, int s) const;
	void exchange_with_next(oc n) const;
};

/* `n` is red, and perhaps its parent too. */
void tree::fix_red(oc n) const
{
	const tree &at = *this;

	for (;;) {
		oc parent = at(n).up;

		if (!is_red(parent))
			break;

		/* A red element is not the root. */
		const oc top = at(parent).up;
		const int s = side_of(parent, top);
		const oc uncle = at(top).child[!s];

		if (is_red(uncle)) {
			at(parent).state = at(uncle).state = ITREE_BLACK;
			at(top).state = ITREE_RED;
			n = top;
			continue;
		}
		if (side_of(n, parent) != s) {
			rotate(parent, s);
			parent = n;
		}
		at(parent).state = ITREE_BLACK;
		at(top).state = ITREE_RED;
		rotate(top, !s);
		break;
	}
	at(*root).state = ITREE_BLACK;
}

/* Ways through side `s` of `parent` have one black element less than the others. */
void tree::fix_short(oc parent, int s) const
{
	const tree &at = *this;

	while (parent) {
		oc sibling = at(parent).child[!s];

		if (is_red(sibling)) {
			at(sibling).state = ITREE_BLACK;
			at(parent).state = ITREE_RED;
			rotate(parent, s);
			sibling = at(parent).child[!s];
		}

		const bool near_red = is_red(at(sibling).child[s]), far_red = is_red(at(sibling).child[!s]);

		if (!near_red && !far_red) {
			at(sibling).state = ITREE_RED;
			if (is_red(parent)) {
				at(parent).state = ITREE_BLACK;
				return;
			}

			const oc above = at(parent).up;

			s = above ? side_of(parent, above) : 0;
			parent = above;
			continue;
		}
		if (!far_red) {
			at(at(sibling).child[s]).state = ITREE_BLACK;
			at(sibling).state = ITREE_RED;
			rotate(sibling, !s);
			sibling = at(parent).child[!s];
		}
		at(sibling).state = at(parent).state;
		at(parent).state = ITREE_BLACK;
		at(at(sibling).child[!s]).state = ITREE_BLACK;
		rotate(parent, s);
		return;
	}
}

/* `n` has both children: it and the element after it change places, and colors. */
void tree::exchange_with_next(oc n) const
{
	const tree &at = *this;
	const oc next = itree_outermost(at(n).child[ITREE_RIGHT], ITREE_LEFT, offset);
	const oc below = at(next).child[ITREE_RIGHT], above = at(next).up;
	itree_link &upper = at(n), &lower = at(next);

	/* `next` gets the place of `n`, with its children. */
	place(n) = next;
	lower.up = upper.up;
	lower.child[ITREE_LEFT] = upper.child[ITREE_LEFT];
	at(lower.child[ITREE_LEFT]).up = next;
	if (above == n) {
		lower.child[ITREE_RIGHT] = n;
		upper.up = next;
	} else {
		lower.child[ITREE_RIGHT] = upper.child[ITREE_RIGHT];
		at(lower.child[ITREE_RIGHT]).up = next;
		at(above).child[ITREE_LEFT] = n;
		upper.up = above;
	}

	/* `n` gets the place of `next`, which has no left child. */
	upper.child[ITREE_LEFT] = NULL;
	upper.child[ITREE_RIGHT] = below;
	if (below)
		at(below).up = n;
	std::swap(upper.state, lower.state);
}

} // namespace

void itree_insert(oc *root, oc n, oc parent, itree_side side, ptrdiff_t offset)
{
	const tree at = { root, offset };

	at(n).up = parent;
	at(n).child[ITREE_LEFT] = at(n).child[ITREE_RIGHT] = NULL;
	at(n).state = ITREE_RED;
	(parent ? at(parent).child[side] : *root) = n;
	at.fix_red(n);
}

void itree_remove(oc *root, oc n, ptrdiff_t offset)
{
	const tree at = { root, offset };

	if (at(n).child[ITREE_LEFT] && at(n).child[ITREE_RIGHT])
		at.exchange_with_next(n);

	const oc child = at(n).child[ITREE_LEFT] ? at(n).child[ITREE_LEFT] : at(n).child[ITREE_RIGHT];
	const oc parent = at(n).up;
	const int s = parent ? at.side_of(n, parent) : 0;
	const bool was_red = at.is_red(n);

	at.place(n) = child;
	if (child)
		at(child).up = parent;
	at(n).state = ITREE_OUT;
	if (was_red)
		return;

	/* An only child is red, and takes the color over. */
	if (child)
		at(child).state = ITREE_BLACK;
	else
		at.fix_short(parent, s);
}

oc itree_outermost(oc n, itree_side side, ptrdiff_t offset)
{
	const tree at = { NULL, offset };

	while (at(n).child[side])
		n = at(n).child[side];
	return n;
}

oc itree_neighbour(oc n, itree_side side, ptrdiff_t offset)
{
	const tree at = { NULL, offset };

	if (at(n).child[side])
		return itree_outermost(at(n).child[side], side == ITREE_LEFT ? ITREE_RIGHT : ITREE_LEFT, offset);

	oc parent = at(n).up;

	while (parent && at(parent).child[side] == n) {
		n = parent;
		parent = at(n).up;
	}
	return parent;
}

} // namespace libasync
