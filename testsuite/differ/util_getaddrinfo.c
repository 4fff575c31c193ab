/*
 * evutil_getaddrinfo with names that need no server, and every hint.
 */
#include "trace.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <event2/util.h>

static void say_entry(const struct evutil_addrinfo *ai)
{
	char text[INET6_ADDRSTRLEN] = "?";
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)ai->ai_addr;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)ai->ai_addr;

	if (ai->ai_family == AF_INET)
		(void)inet_ntop(AF_INET, &sin->sin_addr, text, sizeof(text));
	else if (ai->ai_family == AF_INET6)
		(void)inet_ntop(AF_INET6, &sin6->sin6_addr, text, sizeof(text));
	say("  family %d/%d type %d protocol %d length %d %s port %d scope %u flags %#x name %s",
	    ai->ai_family, ai->ai_addr->sa_family, ai->ai_socktype, ai->ai_protocol,
	    (int)ai->ai_addrlen, text,
	    ntohs(ai->ai_family == AF_INET6 ? sin6->sin6_port : sin->sin_port),
	    ai->ai_family == AF_INET6 ? sin6->sin6_scope_id : 0, (unsigned)ai->ai_flags,
	    ai->ai_canonname != NULL ? ai->ai_canonname : "none");
}

static void ask(const char *node, const char *service, const struct evutil_addrinfo *hints)
{
	static struct evutil_addrinfo before;
	struct evutil_addrinfo *list = &before, *ai;
	int r = evutil_getaddrinfo(node, service, hints, &list);

	if (hints == NULL)
		say("%s %s no hints: %d", node ? node : "NULL", service ? service : "NULL", r);
	else
		say("%s %s family %d type %d protocol %d flags %#x: %d", node ? node : "NULL",
		    service ? service : "NULL", hints->ai_family, hints->ai_socktype,
		    hints->ai_protocol, (unsigned)hints->ai_flags, r);
	if (r != 0) {
		say("  list %s", list == NULL ? "none" : list == &before ? "untouched" : "some");
		return;
	}
	for (ai = list; ai != NULL; ai = ai->ai_next)
		say_entry(ai);
	evutil_freeaddrinfo(list);
}

static void numeric(void)
{
	static const char *const nodes[] = {
		NULL,
		"1.2.3.4",
		"::1",
		"127.0.0.1",
		"fe80::1%lo",
		"fe80::1%1",
		"::ffff:1.2.3.4",
		"1.2.3",
		"01.2.3.4",
		"",
		"[::1]",
		"no_such_host.invalid",
		"1.2.3.4%1",
		"0",
		"256.0.0.1",
	};
	static const char *const services[] = { NULL, "80", "0",   "65535", "65536",
						"-1", "",   "80x", "http",  "no-such-service",
						" 80" };
	static const int families[] = { PF_UNSPEC, PF_INET, PF_INET6, PF_UNIX };
	struct evutil_addrinfo hints;

	section("numeric");
	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		for (size_t j = 0; j < sizeof(services) / sizeof(services[0]); j++) {
			for (size_t k = 0; k < sizeof(families) / sizeof(families[0]); k++) {
				memset(&hints, 0, sizeof(hints));
				hints.ai_family = families[k];
				hints.ai_flags = EVUTIL_AI_NUMERICHOST | EVUTIL_AI_NUMERICSERV;
				ask(nodes[i], services[j], &hints);
				hints.ai_flags |= EVUTIL_AI_PASSIVE;
				hints.ai_socktype = SOCK_STREAM;
				ask(nodes[i], services[j], &hints);
			}
		}
	}
}

static void kinds(void)
{
	static const int types[] = { 0, SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, 77 };
	static const int protocols[] = { 0, IPPROTO_TCP, IPPROTO_UDP, 77 };
	static const int flags[] = {
		0,
		EVUTIL_AI_PASSIVE,
		EVUTIL_AI_CANONNAME,
		EVUTIL_AI_NUMERICHOST,
		EVUTIL_AI_NUMERICHOST | EVUTIL_AI_CANONNAME,
		EVUTIL_AI_V4MAPPED,
		EVUTIL_AI_ALL,
		EVUTIL_AI_V4MAPPED | EVUTIL_AI_ALL,
		EVUTIL_AI_ADDRCONFIG,
		EVUTIL_AI_ADDRCONFIG | EVUTIL_AI_PASSIVE,
		0x40000000,
	};
	static const char *const nodes[] = { NULL, "127.0.0.1", "::1" };
	struct evutil_addrinfo hints;

	section("kinds");
	for (size_t n = 0; n < sizeof(nodes) / sizeof(nodes[0]); n++) {
		for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
			for (size_t j = 0; j < sizeof(protocols) / sizeof(protocols[0]); j++) {
				for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++) {
					memset(&hints, 0, sizeof(hints));
					hints.ai_family = n == 2 ? PF_INET6 : PF_UNSPEC;
					hints.ai_socktype = types[i];
					hints.ai_protocol = protocols[j];
					hints.ai_flags = flags[k];
					ask(nodes[n], "80", &hints);
				}
			}
		}
	}
}

static void hosts(void)
{
	struct evutil_addrinfo hints = { .ai_family = PF_INET, .ai_socktype = SOCK_STREAM };

	section("hosts");
	ask("localhost", "80", &hints);
	ask("localhost", "http", &hints);
	ask("localhost", "domain", &hints);
	ask("localhost", "no-such-service", &hints);
	ask("localhost", NULL, &hints);
	hints.ai_flags = EVUTIL_AI_CANONNAME;
	ask("localhost", "80", &hints);
	hints.ai_flags = EVUTIL_AI_NUMERICHOST;
	ask("localhost", "80", &hints);
	hints.ai_flags = EVUTIL_AI_NUMERICSERV;
	ask("localhost", "http", &hints);
	hints.ai_flags = 0;
	hints.ai_socktype = 0;
	ask("localhost", "http", &hints);
	ask("127.0.0.1", "domain", NULL);
	ask("127.0.0.1", NULL, NULL);
	ask(NULL, NULL, NULL);
	ask(NULL, NULL, &hints);
	ask(NULL, "80", NULL);
	hints.ai_addrlen = 4;
	ask("127.0.0.1", "80", &hints);
}

static void errors(void)
{
	static const int codes[] = {
		0,
		EVUTIL_EAI_ADDRFAMILY,
		EVUTIL_EAI_AGAIN,
		EVUTIL_EAI_BADFLAGS,
		EVUTIL_EAI_FAIL,
		EVUTIL_EAI_FAMILY,
		EVUTIL_EAI_MEMORY,
		EVUTIL_EAI_NODATA,
		EVUTIL_EAI_NONAME,
		EVUTIL_EAI_SERVICE,
		EVUTIL_EAI_SOCKTYPE,
		EVUTIL_EAI_SYSTEM,
		EVUTIL_EAI_CANCEL,
		1,
		-1000,
		-12345,
		EAI_OVERFLOW,
		-100,
		-101,
		-90002,
	};

	section("gai_strerror");
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		say("%d: %s", codes[i], evutil_gai_strerror(codes[i]));
	for (int code = -120; code < 12; code++)
		say("%d: %s", code, evutil_gai_strerror(code));
}

int main(void)
{
	numeric();
	kinds();
	hosts();
	errors();
	return 0;
}
