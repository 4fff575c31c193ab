/*
 * Callbacks on changes of a buffer: at once, or later from the loop.
 *
 * Callbacks run with the buffer's lock held. They may add and remove callbacks, and change or free
 * the buffer. So an entry that is removed while callbacks run is only marked; the outermost
 * notification in progress frees it at its end.
 *
 * With evbuffer_defer_callbacks the changes add up until the event `later` runs. While that event
 * waits, the buffer holds a reference on itself and one on its parent, the bufferevent around it.
 */
#include "buffer.h"

static void notify_entry(struct evbuffer *buf, const struct evbuffer_cb_entry *entry, size_t before,
			 size_t added, size_t deleted)
{
	struct evbuffer_cb_info info = { .orig_size = before,
					 .n_added = added,
					 .n_deleted = deleted };

	if (entry->is_old)
		entry->fn.resized(buf, before, before + added - deleted, entry->arg);
	else
		entry->fn.changed(buf, &info, entry->arg);
}

static void entry_free(struct evbuffer *buf, struct evbuffer_cb_entry *entry)
{
	ec_list_remove(&entry->link);
	/* Changes that `later` waits for are forgotten at the next change: see wait_for_later. */
	if (ec_list_is_empty(&buf->cbs) && !buf->is_later_waiting)
		le_buffer_clear_special(buf, LE_BUFFER_CALLBACKS);
	ec_free(entry);
}

static void sweep(struct evbuffer *buf)
{
	struct evbuffer_cb_entry *entry;
	struct ec_list *at, *next;

	for (at = buf->cbs.next; at != &buf->cbs; at = next) {
		next = at->next;
		entry = ec_container_of(at, struct evbuffer_cb_entry, link);
		if (entry->is_removed)
			entry_free(buf, entry);
	}
}

enum which { ALL, NOW, LATER };

static bool is_meant(const struct evbuffer_cb_entry *entry, enum which which)
{
	if (entry->is_removed || (entry->flags & EVBUFFER_CB_ENABLED) == 0)
		return false;
	return which == ALL || entry->is_now == (which == NOW);
}

static void notify(struct evbuffer *buf, enum which which, size_t added, size_t deleted)
{
	size_t before = buf->total + deleted - added;
	struct evbuffer_cb_entry *entry;
	struct ec_list *at;

	buf->notifying_num++;
	for (at = buf->cbs.next; at != &buf->cbs; at = at->next) {
		entry = ec_container_of(at, struct evbuffer_cb_entry, link);
		if (is_meant(entry, which))
			notify_entry(buf, entry, before, added, deleted);
	}
	if (--buf->notifying_num == 0)
		sweep(buf);
}

/* Called by the loop, in the buffer's color. */
static void notify_later(int fd, short what, void *arg)
{
	struct evbuffer *buf = arg;
	struct bufferevent *parent;
	size_t added, deleted;

	(void)fd;
	(void)what;
	le_buffer_lock(buf);
	parent = buf->later->parent;
	added = buf->later->added;
	deleted = buf->later->deleted;
	buf->later->added = 0;
	buf->later->deleted = 0;
	buf->is_later_waiting = false;
	if (ec_list_is_empty(&buf->cbs))
		le_buffer_clear_special(buf, LE_BUFFER_CALLBACKS);
	if ((added | deleted) != 0)
		notify(buf, LATER, added, deleted);
	le_buffer_put_and_unlock(buf);
	if (parent != NULL)
		le_buffer_owner(parent)->put(parent);
}

static void wait_for_later(struct evbuffer *buf, size_t added, size_t deleted)
{
	struct le_buffer_later *later = buf->later;

	/* As in libevent: a change without callbacks forgets those before it. */
	if (ec_list_is_empty(&buf->cbs)) {
		le_buffer_clear_special(buf, LE_BUFFER_CALLBACKS);
		later->added = 0;
		later->deleted = 0;
		return;
	}
	later->added += added;
	later->deleted += deleted;
	if (buf->is_later_waiting)
		return;
	buf->is_later_waiting = true;
	buf->refs++;
	later->parent = buf->parent;
	if (later->parent != NULL)
		le_buffer_owner(later->parent)->get(later->parent);
	/* The color has changed while it waited before. */
	if (__builtin_expect(ec_event_color(&later->event) != buf->color, 0))
		(void)ec_event_set_color(&later->event, buf->color);
	ec_event_defer(&later->event);
}

void le_buffer_notify_and_unlock(struct evbuffer *buf, size_t added, size_t deleted)
{
	buf->refs++;
	if (buf->is_deferred) {
		wait_for_later(buf, added, deleted);
		notify(buf, NOW, added, deleted);
	} else {
		notify(buf, ALL, added, deleted);
	}
	le_buffer_put_and_unlock(buf);
}

static int defer(struct evbuffer *buf, struct ec_base *base)
{
	if (buf->is_later_waiting)
		return le_buffer_refuse(EBUSY);
	if (base != NULL) {
		if (buf->later == NULL)
			buf->later = ec_calloc(1, sizeof(*buf->later));
		if (buf->later == NULL)
			return le_buffer_refuse(ENOMEM);
		if (buf->parent == NULL && buf->color == 0)
			buf->color = ec_base_color_to_inherit(base);
		(void)ec_event_init(&buf->later->event, base, -1, 0, notify_later, buf);
		(void)ec_event_set_color(&buf->later->event, buf->color);
	}
	buf->is_deferred = base != NULL;
	return 0;
}

/* Changes for which `later` already waits are still reported by the loop. */
int evbuffer_defer_callbacks(struct evbuffer *buffer, struct event_base *base)
{
	int r;

	le_buffer_lock(buffer);
	r = defer(buffer, (struct ec_base *)(void *)base);
	le_buffer_unlock(buffer);
	return r;
}

void le_buffer_set_color(struct evbuffer *buf, uint32_t color)
{
	le_buffer_lock(buf);
	buf->color = color;		/* wait_for_later sets the event's */
	le_buffer_unlock(buf);
}

/* ---------------------------------------------------------------- adding and removing callbacks */

static struct evbuffer_cb_entry *entry_new(void *arg)
{
	struct evbuffer_cb_entry *entry = ec_malloc(sizeof(*entry));

	if (entry == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	*entry = (struct evbuffer_cb_entry){ .arg = arg, .flags = EVBUFFER_CB_ENABLED };
	return entry;
}

/*
 * The entry added last is called first, as in libevent. An entry that a callback adds is called
 * from the next change on.
 */
static void entry_add(struct evbuffer *buf, struct evbuffer_cb_entry *entry)
{
	ec_list_push_front(&buf->cbs, &entry->link);
	le_buffer_note_special(buf, LE_BUFFER_CALLBACKS);
}

static void entry_remove(struct evbuffer *buf, struct evbuffer_cb_entry *entry)
{
	if (buf->notifying_num > 0) {
		entry->is_removed = true;
		return;
	}
	entry_free(buf, entry);
}

static void remove_all(struct evbuffer *buf)
{
	struct ec_list *at, *next;

	for (at = buf->cbs.next; at != &buf->cbs; at = next) {
		next = at->next;
		entry_remove(buf, ec_container_of(at, struct evbuffer_cb_entry, link));
	}
}

static struct evbuffer_cb_entry *add_cb(struct evbuffer *buf, evbuffer_cb_func fn, void *arg,
					bool is_now)
{
	struct evbuffer_cb_entry *entry = entry_new(arg);

	if (entry == NULL)
		return NULL;
	entry->fn.changed = fn;
	entry->is_now = is_now;
	le_buffer_lock(buf);
	entry_add(buf, entry);
	le_buffer_unlock(buf);
	return entry;
}

struct evbuffer_cb_entry *evbuffer_add_cb(struct evbuffer *buffer, evbuffer_cb_func cb, void *cbarg)
{
	return add_cb(buffer, cb, cbarg, false);
}

struct evbuffer_cb_entry *le_buffer_add_cb_now(struct evbuffer *buf, evbuffer_cb_func fn, void *arg)
{
	return add_cb(buf, fn, arg, true);
}

void le_buffer_set_grown(struct evbuffer *buf, void (*fn)(void *arg), void *arg)
{
	le_buffer_lock(buf);
	buf->grown = fn;
	buf->grown_arg = arg;
	le_buffer_note_special(buf, LE_BUFFER_OWNED);
	le_buffer_unlock(buf);
}

/* An obsolete callback replaces all others. */
int evbuffer_setcb(struct evbuffer *buffer, evbuffer_cb cb, void *cbarg)
{
	struct evbuffer_cb_entry *entry = NULL;

	if (cb != NULL) {
		entry = entry_new(cbarg);
		if (entry == NULL)
			return -1;
		entry->fn.resized = cb;
		entry->is_old = true;
	}
	le_buffer_lock(buffer);
	remove_all(buffer);
	if (entry != NULL)
		entry_add(buffer, entry);
	le_buffer_unlock(buffer);
	return 0;
}

int evbuffer_remove_cb_entry(struct evbuffer *buffer, struct evbuffer_cb_entry *ent)
{
	le_buffer_lock(buffer);
	entry_remove(buffer, ent);
	le_buffer_unlock(buffer);
	return 0;
}

int evbuffer_remove_cb(struct evbuffer *buffer, evbuffer_cb_func cb, void *cbarg)
{
	struct evbuffer_cb_entry *entry;
	struct ec_list *at;
	int r = -1;

	le_buffer_lock(buffer);
	for (at = buffer->cbs.next; at != &buffer->cbs; at = at->next) {
		entry = ec_container_of(at, struct evbuffer_cb_entry, link);
		if (entry->is_old || entry->is_removed || entry->fn.changed != cb ||
		    entry->arg != cbarg)
			continue;
		entry_remove(buffer, entry);
		r = 0;
		break;
	}
	le_buffer_unlock(buffer);
	return r;
}

/* Other flags are the library's. */
int evbuffer_cb_set_flags(struct evbuffer *buffer, struct evbuffer_cb_entry *cb, ev_uint32_t flags)
{
	le_buffer_lock(buffer);
	cb->flags |= flags & EVBUFFER_CB_ENABLED;
	le_buffer_unlock(buffer);
	return 0;
}

int evbuffer_cb_clear_flags(struct evbuffer *buffer, struct evbuffer_cb_entry *cb,
			    ev_uint32_t flags)
{
	le_buffer_lock(buffer);
	cb->flags &= ~(flags & EVBUFFER_CB_ENABLED);
	le_buffer_unlock(buffer);
	return 0;
}
