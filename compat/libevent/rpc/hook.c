#include "rpc.h"

#include <string.h>

#include <event2/http.h>

struct hook {
	struct ec_list link;
	int (*fn)(void *ctx, struct evhttp_request *req, struct evbuffer *data, void *arg);
	void *arg;
};

struct evrpc_hook_meta {
	struct ec_list data;
	struct evhttp_connection *conn;
};

struct datum {
	struct ec_list link;
	char *key;
	size_t size;
	_Alignas(max_align_t) unsigned char bytes[];
};

void le_rpc_hooks_init(struct le_rpc_hooks *hooks)
{
	ec_list_init(&hooks->input);
	ec_list_init(&hooks->output);
	ec_list_init(&hooks->paused);
	hooks->mu = (struct le_mutex){ 0 };
}

static void hooks_free(struct ec_list *list)
{
	struct hook *h;

	while (!ec_list_is_empty(list)) {
		h = ec_container_of(list->next, struct hook, link);
		ec_list_remove(&h->link);
		ec_free(h);
	}
}

void le_rpc_hooks_fini(struct le_rpc_hooks *hooks)
{
	hooks_free(&hooks->input);
	hooks_free(&hooks->output);
}

char *le_rpc_uri(const char *name)
{
	size_t len = strlen(name);
	char *uri = ec_malloc(sizeof(LE_RPC_PREFIX) + len);

	if (uri == NULL)
		return NULL;
	memcpy(uri, LE_RPC_PREFIX, sizeof(LE_RPC_PREFIX) - 1);
	memcpy(uri + sizeof(LE_RPC_PREFIX) - 1, name, len + 1);
	return uri;
}

/* ---------------------------------------------------------------- hooks */

static struct ec_list *list_of(struct le_rpc_hooks *hooks, enum EVRPC_HOOK_TYPE type)
{
	return type == EVRPC_INPUT ? &hooks->input : &hooks->output;
}

void *evrpc_add_hook(void *vbase, enum EVRPC_HOOK_TYPE hook_type,
		     int (*cb)(void *, struct evhttp_request *, struct evbuffer *, void *), void *cb_arg)
{
	struct hook *h;

	if (hook_type != EVRPC_INPUT && hook_type != EVRPC_OUTPUT)
		return NULL;
	h = ec_malloc(sizeof(*h));
	if (h == NULL)
		return NULL;
	h->fn = cb;
	h->arg = cb_arg;
	ec_list_push_back(list_of(vbase, hook_type), &h->link);
	return h;
}

int evrpc_remove_hook(void *vbase, enum EVRPC_HOOK_TYPE hook_type, void *handle)
{
	struct ec_list *list, *at;

	if (hook_type != EVRPC_INPUT && hook_type != EVRPC_OUTPUT)
		return 0;
	list = list_of(vbase, hook_type);
	for (at = list->next; at != list; at = at->next) {
		struct hook *h = ec_container_of(at, struct hook, link);

		if (h != handle)
			continue;
		ec_list_remove(&h->link);
		ec_free(h);
		return 1;
	}
	return 0;
}

static enum EVRPC_HOOK_RESULT hooks_call(struct ec_list *list, struct le_rpc_ctx *ctx, struct evhttp_request *req,
					 struct evbuffer *data)
{
	struct ec_list *at, *next;
	int res;

	for (at = list->next; at != list; at = next) {
		struct hook *h = ec_container_of(at, struct hook, link);

		next = at->next;	/* it may remove itself */
		res = h->fn(ctx, req, data, h->arg);
		if (res == EVRPC_PAUSE)
			return EVRPC_PAUSE;
		if (res != EVRPC_CONTINUE)
			return EVRPC_TERMINATE;
	}
	return EVRPC_CONTINUE;
}

static struct evrpc_hook_meta *meta_of(struct le_rpc_ctx *ctx)
{
	struct evrpc_hook_meta *meta = ctx->meta;

	if (meta != NULL)
		return meta;
	meta = ec_malloc(sizeof(*meta));
	if (meta == NULL)
		return NULL;
	ec_list_init(&meta->data);
	meta->conn = NULL;
	ctx->meta = meta;
	return meta;
}

/*
 * The context can be resumed from the first hook on: another thread may do so before the hook that
 * pauses has returned.
 */
enum EVRPC_HOOK_RESULT le_rpc_hooks_run(struct le_rpc_hooks *hooks, enum EVRPC_HOOK_TYPE type,
					struct le_rpc_ctx *ctx, struct evhttp_connection *conn,
					struct evhttp_request *req, struct evbuffer *data)
{
	struct ec_list *list = list_of(hooks, type);
	struct evrpc_hook_meta *meta;
	enum EVRPC_HOOK_RESULT res;

	if (ec_list_is_empty(list))
		return EVRPC_CONTINUE;
	meta = meta_of(ctx);
	if (meta == NULL)
		return EVRPC_TERMINATE;
	meta->conn = conn;
	le_mutex_lock(&hooks->mu);
	ec_list_push_back(&hooks->paused, &ctx->paused_link);
	ctx->pause = LE_RPC_IN_HOOK;
	le_mutex_unlock(&hooks->mu);

	res = hooks_call(list, ctx, req, data);

	le_mutex_lock(&hooks->mu);
	if (res == EVRPC_PAUSE && ctx->pause == LE_RPC_IN_HOOK) {
		ctx->pause = LE_RPC_PAUSED;
	} else {
		if (res == EVRPC_PAUSE)
			res = ctx->resumed_with;
		if (ctx->pause == LE_RPC_IN_HOOK)
			ec_list_remove(&ctx->paused_link);
		ctx->pause = LE_RPC_RUNS;
	}
	le_mutex_unlock(&hooks->mu);
	return res;
}

int evrpc_resume_request(void *vbase, void *ctx, enum EVRPC_HOOK_RESULT res)
{
	struct le_rpc_hooks *hooks = vbase;
	struct le_rpc_ctx *found = NULL;
	enum le_rpc_pause was = LE_RPC_RUNS;
	struct ec_list *at;

	le_mutex_lock(&hooks->mu);
	for (at = hooks->paused.next; at != &hooks->paused; at = at->next) {
		if (ec_container_of(at, struct le_rpc_ctx, paused_link) == ctx) {
			found = ctx;
			break;
		}
	}
	if (found != NULL) {
		was = found->pause;
		ec_list_remove(&found->paused_link);
		found->pause = LE_RPC_RESUMED;
		found->resumed_with = res;
	}
	le_mutex_unlock(&hooks->mu);
	if (found == NULL)
		return -1;
	if (was == LE_RPC_PAUSED)
		found->go_on(found, res);
	return 0;
}

/* ---------------------------------------------------------------- meta data */

void evrpc_hook_add_meta(void *ctx, const char *key, const void *data, size_t data_size)
{
	struct evrpc_hook_meta *meta = meta_of(ctx);
	struct datum *d;

	if (meta == NULL || data_size > SIZE_MAX - sizeof(*d))
		goto no_memory;
	d = ec_malloc(sizeof(*d) + data_size);
	if (d == NULL)
		goto no_memory;
	d->key = ec_strdup(key);
	if (d->key == NULL)
		goto free_datum;
	memcpy(d->bytes, data, data_size);
	d->size = data_size;
	ec_list_push_back(&meta->data, &d->link);
	return;
free_datum:
	ec_free(d);
no_memory:
	ec_log(EC_LOG_WARN, "evrpc_hook_add_meta: out of memory for %zu bytes", data_size);
}

/* The oldest entry of that key. */
int evrpc_hook_find_meta(void *ctx, const char *key, void **data, size_t *data_size)
{
	struct evrpc_hook_meta *meta = ((struct le_rpc_ctx *)ctx)->meta;
	struct ec_list *at;

	if (meta == NULL)
		return -1;
	for (at = meta->data.next; at != &meta->data; at = at->next) {
		struct datum *d = ec_container_of(at, struct datum, link);

		if (strcmp(d->key, key) != 0)
			continue;
		*data = d->bytes;
		*data_size = d->size;
		return 0;
	}
	return -1;
}

struct evhttp_connection *evrpc_hook_get_connection(void *ctx)
{
	struct evrpc_hook_meta *meta = ((struct le_rpc_ctx *)ctx)->meta;

	return meta != NULL ? meta->conn : NULL;
}

void le_rpc_ctx_fini(struct le_rpc_hooks *hooks, struct le_rpc_ctx *ctx)
{
	struct datum *d;

	if (hooks != NULL) {
		le_mutex_lock(&hooks->mu);
		if (ctx->pause == LE_RPC_PAUSED || ctx->pause == LE_RPC_IN_HOOK)
			ec_list_remove(&ctx->paused_link);
		ctx->pause = LE_RPC_RUNS;
		le_mutex_unlock(&hooks->mu);
	}
	if (ctx->meta == NULL)
		return;
	while (!ec_list_is_empty(&ctx->meta->data)) {
		d = ec_container_of(ctx->meta->data.next, struct datum, link);
		ec_list_remove(&d->link);
		ec_free(d->key);
		ec_free(d);
	}
	ec_free(ctx->meta);
	ctx->meta = NULL;
}
