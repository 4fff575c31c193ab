/*
 * Copyright (c) 2026 the libevent-smp authors. 3-clause BSD license, see COPYING.
 */
#ifndef LIBASYNC_UNION_H
#define LIBASYNC_UNION_H

/*
 * Arms of a union that are objects with constructors.
 *
 *   union {
 *           union_entry_base all;
 *           union_entry<str> name;
 *           union_entry<rxx> pattern;
 *   };
 *
 * all.init () when the union is made: no arm is selected. name.select () makes a str, unless the union holds one.
 * all.destroy () when the union ends. Copying a union needs all.init (other.all) or all.assign (other.all). A union
 * belongs to one color at a time.
 */
#include <cstddef>
#include <new>
#include <typeinfo>

#include "libasync_config.h"
#include "sysconf.h"

class union_entry_base
{
protected:
	struct vtbl {
		const std::type_info *type;
		size_t size;			/* of the object */
		void (*init)(void *entry);
		void (*init_from)(void *entry, const void *from);
		void (*assign)(void *entry, const void *from);
		void (*destroy)(void *entry);
	};

	const vtbl *vt;

public:
	/* Before anything else: no arm. */
	void init() { vt = nullptr; }

	/* Instead of init(): a copy of what `b` holds. */
	void init(const union_entry_base &b)
	{
		vt = b.vt;
		if (vt != nullptr)
			vt->init_from(this, &b);
	}

	/* Destroy the object, if there is one. No arm is selected then. */
	void destroy()
	{
		const vtbl *old = vt;

		vt = nullptr;
		if (old != nullptr)
			old->destroy(this);
	}

	/* Hold a copy of what `b` holds. */
	void assign(const union_entry_base &b)
	{
		if (this == &b)
			return;
		if (vt != nullptr && vt == b.vt) {
			vt->assign(this, &b);
			return;
		}
		destroy();
		init(b);
	}

	/* The type of the object; NULL: no arm is selected. */
	const std::type_info *type() const { return vt == nullptr ? nullptr : vt->type; }
};

template <class T> class union_entry : public union_entry_base
{
	union {
		char m[sizeof(T)];
		alignas(T) char aligned;
	};

	static union_entry *self(void *entry) { return static_cast<union_entry *>(entry); }
	static const union_entry *self(const void *entry) { return static_cast<const union_entry *>(entry); }
	T *object() { return std::launder(reinterpret_cast<T *>(m)); }
	const T *object() const { return std::launder(reinterpret_cast<const T *>(m)); }

	static void make(void *entry) { ::new (static_cast<void *>(self(entry)->m)) T; }
	static void make_from(void *entry, const void *from)
	{
		::new (static_cast<void *>(self(entry)->m)) T(*self(from)->object());
	}
	static void assign_from(void *entry, const void *from) { *self(entry)->object() = *self(from)->object(); }
	static void unmake(void *entry) { self(entry)->object()->~T(); }

	static const vtbl *table()
	{
		static const vtbl v = { &typeid(T), sizeof(T), make, make_from, assign_from, unmake };

		return &v;
	}

public:
	/* Hold a T: a new one, unless there is one. */
	void select()
	{
		if (vt != nullptr && *vt->type == typeid(T))
			return;
		destroy();
		make(this);
		vt = table();
	}

	/* The object. Only while this arm is selected. */
	T *addr() { return object(); }
	const T *addr() const { return object(); }
	T *operator->() { return object(); }
	const T *operator->() const { return object(); }
	T &operator*() { return *object(); }
	const T &operator*() const { return *object(); }
	operator T *() { return object(); }
	operator const T *() const { return object(); }
};

#endif
