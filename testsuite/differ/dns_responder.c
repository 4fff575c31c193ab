/*
 * The answering side: what a question looks like to the program, and what is sent back, byte by byte.
 */
#include "dns_peer.h"

static struct event_base *base;
static struct evdns_server_port *port;
static int client;
static void (*answer)(struct evdns_server_request *req);

static const unsigned char addr[16] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static void respond(struct evdns_server_request *req, int err)
{
	say("  respond: %d", evdns_server_request_respond(req, err));
}

static void asked(struct evdns_server_request *req, void *arg)
{
	struct sockaddr_storage from;
	const struct sockaddr_in *sin = (void *)&from;
	int len;

	say("  %s: flags %x, questions %d", (const char *)arg, (unsigned)req->flags, req->nquestions);
	for (int i = 0; i < req->nquestions; i++)
		say("    type %d, class %d, '%s'", req->questions[i]->type, req->questions[i]->dns_question_class,
		    req->questions[i]->name);
	say("    room for 4 bytes of the address: %d",
	    evdns_server_request_get_requesting_addr(req, (void *)&from, 4));
	len = evdns_server_request_get_requesting_addr(req, (void *)&from, sizeof(from));
	say("    address: %d bytes, family %d, loopback %d", len, sin->sin_family,
	    sin->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	answer(req);
}

static void say_bytes(const unsigned char *bytes, size_t len)
{
	char line[16 * 3 + 1];

	for (size_t i = 0; i < len; i += 16) {
		for (size_t j = i; j < len && j < i + 16; j++)
			snprintf(line + (j - i) * 3, 4, " %02x", bytes[j]);
		say("   %s", line);
	}
}

static void exchange(const char *what, const void *bytes, size_t len)
{
	unsigned char got[2048];
	ssize_t n;

	say(" %s", what);
	must(send(client, bytes, len, 0) == (ssize_t)len, "ask");
	turn(base);
	turn(base);
	n = recv(client, got, sizeof(got), 0);
	say("  answer: %zd bytes", n);
	if (n > 0)
		say_bytes(got, (size_t)n);
}

/* ---------------------------------------------------------------- questions */

static const unsigned char question[] = "\x12\x34\x01\x00\0\1\0\0\0\0\0\0"
					"\3Www\7example\3com\0\0\1\0\1";
enum { QUESTION_LEN = sizeof(question) - 1 };

static void answer_plain(struct evdns_server_request *req)
{
	respond(req, 0);
}

static void exchange_changed(const char *what, size_t at, unsigned value, size_t len)
{
	unsigned char bytes[QUESTION_LEN];

	memcpy(bytes, question, sizeof(bytes));
	bytes[at] = (unsigned char)value;
	exchange(what, bytes, len);
}

static void questions(void)
{
	static const unsigned char two[] = "\x12\x34\x01\x00\0\2\0\0\0\0\0\0"
					   "\3abc\3org\0\0\1\0\1"
					   "\1x\xc0\x10\0\2\0\3";

	section("questions");
	answer = answer_plain;
	exchange("plain", question, QUESTION_LEN);
	exchange("two", two, sizeof(two) - 1);
	exchange_changed("a response", 2, 0x81, QUESTION_LEN);
	exchange_changed("flags", 2, 0x07, QUESTION_LEN);
	exchange_changed("more flags", 3, 0xff, QUESTION_LEN);
	exchange_changed("opcode", 2, 0x11, QUESTION_LEN);
	exchange_changed("no question", 5, 0, QUESTION_LEN);
	exchange_changed("one of two questions", 5, 2, QUESTION_LEN);
	exchange_changed("no answer of one", 7, 1, QUESTION_LEN);
	exchange_changed("no addition of one", 11, 1, QUESTION_LEN);
	exchange_changed("a pointer to itself", 12, 0xc0, QUESTION_LEN);
	exchange_changed("a label too long", 12, 0x40, QUESTION_LEN);
	for (size_t len = 12; len < QUESTION_LEN; len++)
		exchange_changed("cut", 0, 0x12, len);
}

/* ---------------------------------------------------------------- answers */

static void answer_addresses(struct evdns_server_request *req)
{
	say("  add: %d", evdns_server_request_add_a_reply(req, "x.org", 2, addr, 9));
	say("  add: %d", evdns_server_request_add_aaaa_reply(req, "x.org", 1, addr, 9));
	respond(req, 0);
}

static void answer_cname(struct evdns_server_request *req)
{
	say("  add: %d", evdns_server_request_add_cname_reply(req, "Www.Example.com", "a.example.com", 9));
	say("  add: %d", evdns_server_request_add_a_reply(req, "a.example.COM", 1, addr, 9));
	respond(req, 0);
}

static void answer_ptr(struct evdns_server_request *req)
{
	struct in_addr in;

	memcpy(&in, addr, sizeof(in));
	say("  address: %d", evdns_server_request_add_ptr_reply(req, &in, NULL, "host.org", 5));
	say("  name: %d", evdns_server_request_add_ptr_reply(req, NULL, "4.3.2.1.in-addr.arpa", "host2.org", 5));
	say("  both: %d", evdns_server_request_add_ptr_reply(req, &in, "x", "host.org", 5));
	say("  none: %d", evdns_server_request_add_ptr_reply(req, NULL, NULL, "host.org", 5));
	respond(req, 0);
}

static void answer_sections(struct evdns_server_request *req)
{
	for (int i = -1; i <= 3; i++)
		say("  section %d: %d", i, evdns_server_request_add_reply(req, i, "r.org", 16, 1, 5, 3, 0, "\2ab"));
	say("  name: %d",
	    evdns_server_request_add_reply(req, EVDNS_ANSWER_SECTION, "s.r.org", 2, 1, -5, -1, 1, "r.org"));
	say("  nothing: %d",
	    evdns_server_request_add_reply(req, EVDNS_ADDITIONAL_SECTION, "r.org", 16, 255, 0, 0, 0, NULL));
	say("  root: %d", evdns_server_request_add_reply(req, EVDNS_ADDITIONAL_SECTION, "", 2, 1, 0, -1, 1, "org"));
	respond(req, 0);
}

static void answer_flags(struct evdns_server_request *req)
{
	evdns_server_request_set_flags(req, EVDNS_FLAGS_AA);
	say("  flags %x", (unsigned)req->flags);
	evdns_server_request_set_flags(req, EVDNS_FLAGS_RD);
	say("  flags %x", (unsigned)req->flags);
	evdns_server_request_set_flags(req, EVDNS_FLAGS_AA | EVDNS_FLAGS_RD);
	say("  flags %x", (unsigned)req->flags);
	respond(req, 3);
}

static void answer_errors(struct evdns_server_request *req)
{
	say("  -1: %d", evdns_server_request_respond(req, -1));
	say("  16: %d", evdns_server_request_respond(req, 16));
	say("  AA: %d", evdns_server_request_respond(req, EVDNS_FLAGS_AA | 3));
	respond(req, 15);
}

static void answer_drop(struct evdns_server_request *req)
{
	say("  add: %d", evdns_server_request_add_a_reply(req, "x.org", 2, addr, 9));
	say("  drop: %d", evdns_server_request_drop(req));
}

static struct evdns_server_request *kept;

static void answer_keep(struct evdns_server_request *req)
{
	kept = req;
}

static void answers(void)
{
	static const struct {
		const char *name;
		void (*fn)(struct evdns_server_request *req);
	} all[] = {
		{ "addresses", answer_addresses },
		{ "cname", answer_cname },
		{ "ptr", answer_ptr },
		{ "sections", answer_sections },
		{ "flags", answer_flags },
		{ "errors", answer_errors },
		{ "drop", answer_drop },
		{ "keep", answer_keep },
	};

	section("answers");
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		answer = all[i].fn;
		exchange(all[i].name, question, QUESTION_LEN);
	}
	answer = answer_plain;
	exchange("another", question, QUESTION_LEN);
}

/* A question outlives its port. */
static void closed(void)
{
	unsigned char got[512];

	section("closed");
	evdns_close_server_port(port);
	say("respond: %d", evdns_server_request_respond(kept, 0));
	turn(base);
	say("answer: %zd bytes", recv(client, got, sizeof(got), 0));
	must(send(client, question, QUESTION_LEN, 0) == QUESTION_LEN, "ask");
	turn(base);
	say("answer: %zd bytes", recv(client, got, sizeof(got), 0));
}

int main(void)
{
	struct sockaddr_in server, own;
	int fd;

	base = base_new();
	fd = udp_new(&server);
	client = udp_new(&own);
	must(connect(client, (void *)&server, sizeof(server)) == 0, "connect");
	say("flags: %d", evdns_add_server_port_with_base(base, fd, 1, asked, NULL) != NULL);
	port = evdns_add_server_port_with_base(base, fd, 0, asked, (void *)(uintptr_t) "port");
	must(port != NULL, "make a port");
	questions();
	answers();
	closed();
	close(fd);
	close(client);
	event_base_free(base);
	return 0;
}
