/* A web server that uses all cores, as in README.md. Put your own program here. */
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/smp.h>

static void hello(struct evhttp_request *req, void *arg)
{
	evbuffer_add_printf(evhttp_request_get_output_buffer(req), "Hello from any core\n");
	evhttp_send_reply(req, 200, "OK", NULL);
}

int main(void)
{
	struct event_base *base = event_base_new();
	struct evhttp *http = evhttp_new(base);

	evhttp_set_gencb(http, hello, NULL);
	evhttp_set_color_policy(http, EVCONNLISTENER_COLOR_FRESH, NULL, NULL);	/* the new line */
	return evhttp_bind_socket(http, "127.0.0.1", 8080) < 0 || event_base_dispatch(base);
}
