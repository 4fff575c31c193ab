/*
 * Hooks, pauses and meta data, which both ends of evrpc share. A base (the server's end) and a pool
 * (the client's end) begin with a struct le_rpc_hooks, because the public functions take both as a
 * void pointer. A request of either end has a struct le_rpc_ctx, which hooks receive.
 *
 * Hooks are added and removed before run, or in the color of the requests. Any thread may resume a
 * paused request.
 */
#ifndef LE_RPC_H
#define LE_RPC_H

#include <stdbool.h>

#include <event2/rpc.h>

#include "event/le.h"
#include "util/mutex.h"

struct evhttp_connection;
struct evhttp_request;

struct le_rpc_hooks {
	/* own */
	struct ec_list input;
	struct ec_list output;

	/* mu */
	struct le_mutex mu;
	struct ec_list paused;		/* contexts whose hooks run, or which a hook has paused */
};

enum le_rpc_pause { LE_RPC_RUNS, LE_RPC_IN_HOOK, LE_RPC_PAUSED, LE_RPC_RESUMED };

struct le_rpc_ctx {
	/* own */
	struct evrpc_hook_meta *meta;	/* or NULL */

	/* hooks' mu */
	struct ec_list paused_link;
	enum le_rpc_pause pause;
	enum EVRPC_HOOK_RESULT resumed_with;

	/* const */
	/* Continues after a pause. */
	void (*go_on)(struct le_rpc_ctx *ctx, enum EVRPC_HOOK_RESULT res);
};

void le_rpc_hooks_init(struct le_rpc_hooks *hooks);
void le_rpc_hooks_fini(struct le_rpc_hooks *hooks);

/*
 * Runs the hooks of one direction until one does not return EVRPC_CONTINUE. After EVRPC_PAUSE,
 * go_on is called later, and the hooks after the one that paused are skipped.
 */
enum EVRPC_HOOK_RESULT le_rpc_hooks_run(struct le_rpc_hooks *hooks, enum EVRPC_HOOK_TYPE type,
					struct le_rpc_ctx *ctx, struct evhttp_connection *conn,
					struct evhttp_request *req, struct evbuffer *data);

/* Drop its pause and its meta data. */
void le_rpc_ctx_fini(struct le_rpc_hooks *hooks, struct le_rpc_ctx *ctx);

#define LE_RPC_PREFIX "/.rpc."

/* The prefix and the name, which the caller frees with ec_free. NULL: out of memory. */
char *le_rpc_uri(const char *name);

#endif
