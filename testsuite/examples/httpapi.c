/*
 * An HTTP server with a JSON API and shared state: counters by name.
 *
 *   httpapi [PORT]		(default 7009, on the loopback; 0: any, which is printed)
 *
 *   GET /counters		{"counters": 2}
 *   GET /counters/NAME		{"name": "NAME", "value": 3}	404: there is none
 *   POST /counters/NAME	the same, one more
 *
 * Each connection has a color of its own: requests are read and parsed on all cores. The table of counters has one
 * color, so it needs no lock. A handler posts the request to that color, which also sends the answer.
 */
#include <ctype.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/smp.h>

#define NAME_LEN 31
#define PATH "/counters"

struct counter {
	char name[NAME_LEN + 1];
	unsigned long value;
	LIST_ENTRY(counter) entry;
};

/* A request on its way to the table. */
struct job {
	struct evhttp_request *req;
	char name[NAME_LEN + 1];	/* "": all counters */
};

static struct event_base *base;
static ev_uint32_t table_color;

/* The table's color. */
static LIST_HEAD(, counter) table;
static unsigned counters_num;

static struct counter *counter_get(const char *name, int can_make)
{
	struct counter *counter;

	LIST_FOREACH(counter, &table, entry)
		if (strcmp(counter->name, name) == 0)
			return counter;
	counter = can_make ? calloc(1, sizeof(*counter)) : NULL;
	if (counter == NULL)
		return NULL;
	strcpy(counter->name, name);
	LIST_INSERT_HEAD(&table, counter, entry);
	counters_num++;
	return counter;
}

/* Any color. */
static void answer(struct evhttp_request *req, int code, struct evbuffer *json)
{
	evhttp_add_header(evhttp_request_get_output_headers(req), "Content-Type", "application/json");
	evhttp_send_reply(req, code, NULL, json);
}

/* The table's color. The library sends the answer in the color of the connection. */
static void job_run(void *arg)
{
	struct job *job = arg;
	int is_post = evhttp_request_get_command(job->req) == EVHTTP_REQ_POST;
	struct evbuffer *json = evbuffer_new();
	struct counter *counter = NULL;
	int code = HTTP_OK;

	if (json == NULL)
		abort();	/* no memory */
	if (job->name[0] != '\0')
		counter = counter_get(job->name, is_post);
	if (counter != NULL) {
		counter->value += (unsigned)is_post;
		evbuffer_add_printf(json, "{\"name\": \"%s\", \"value\": %lu}\n", counter->name, counter->value);
	} else if (job->name[0] == '\0' && !is_post) {
		evbuffer_add_printf(json, "{\"counters\": %u}\n", counters_num);
	} else {
		code = HTTP_NOTFOUND;
		evbuffer_add_printf(json, "{\"error\": \"no such counter\"}\n");
	}
	answer(job->req, code, json);
	evbuffer_free(json);
	free(job);
}

/* Letters and digits: they mean the same in JSON. */
static int is_name(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]))
			return 0;
	return len > 0 && len <= NAME_LEN;
}

/* The connection's color. */
static void on_request(struct evhttp_request *req, void *arg)
{
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(req));
	const char *name = path + strlen(PATH);
	struct job *job;

	(void)arg;
	if (strncmp(path, PATH, strlen(PATH)) != 0 || (*name != '\0' && (*name != '/' || !is_name(name + 1)))) {
		answer(req, HTTP_NOTFOUND, NULL);
		return;
	}
	job = calloc(1, sizeof(*job));
	if (job == NULL)
		abort();	/* no memory */
	job->req = req;
	strcpy(job->name, *name == '/' ? name + 1 : "");
	if (event_base_post(base, table_color, job_run, job) < 0)
		abort();
}

static void on_stop(evutil_socket_t sig, short what, void *arg)
{
	(void)sig, (void)what, (void)arg;
	event_base_loopbreak(base);
}

static void print_port(evutil_socket_t fd)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len) == 0)
		printf("port %u\n", ntohs(addr.sin_port));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned short port = (unsigned short)(argc > 1 ? atoi(argv[1]) : 7009);
	struct evhttp_bound_socket *bound;
	struct event *stopping;
	struct counter *counter;
	struct evhttp *http;

	signal(SIGPIPE, SIG_IGN);
	base = event_base_new();
	http = evhttp_new(base);
	table_color = event_color_new(base);
	stopping = evsignal_new(base, SIGTERM, on_stop, NULL);
	evhttp_set_gencb(http, on_request, NULL);
	evhttp_set_allowed_methods(http, EVHTTP_REQ_GET | EVHTTP_REQ_POST);
	bound = evhttp_bind_socket_with_handle(http, "127.0.0.1", port);
	if (bound == NULL || table_color == 0 || event_add(stopping, NULL) < 0 ||
	    evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL) < 0) {
		perror("httpapi: cannot start");
		return 1;
	}
	print_port(evhttp_bound_socket_get_fd(bound));
	event_base_dispatch(base);

	evhttp_free(http);
	event_free(stopping);
	event_base_free(base);
	while ((counter = LIST_FIRST(&table)) != NULL) {
		LIST_REMOVE(counter, entry);
		free(counter);
	}
	return 0;
}
