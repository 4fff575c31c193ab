/*
 * Hosts by name and by address, with evdns; and what all questions have in common.
 */
#include "dns.h"

#include <event2/dns.h>

#include <deque>
#include <string>
#include <vector>

#include "net/packet.h"
#include "net/question.h"
#include "net/resolver.h"

/* ---------------------------------------------------------------- any question */

dnsreq_t *dnsreq::launch()
{
	if (libasync::is_own_color(home.value())) {
		begin();
		return this;
	}
	is_posted = true;
	libasync::post(cwrap(this, &dnsreq::begin_posted, home));
	return this;
}

void dnsreq::begin_posted()
{
	is_posted = false;
	if (is_cancelled)
		delete this;
	else
		begin();
}

void dnsreq::end_posted(cbv fn)
{
	bool is_wanted = !is_cancelled;

	delete this;
	if (is_wanted)
		(*fn)();
}

void dnsreq::cancel()
{
	is_cancelled = true;
	if (is_posted)
		return;
	drop();
}

void dnsreq_cancel(dnsreq_t *rqp)
{
	if (rqp != nullptr)
		rqp->cancel();
}

/* ---------------------------------------------------------------- errors */

const char *dns_strerror(int err)
{
	switch (err) {
	case 0: return "no error";
	case HOST_NOT_FOUND: return "no such domain";
	case TRY_AGAIN: return "temporary failure of the resolver";
	case NO_RECOVERY: return "the name server failed";
	case NO_DATA:
	case ARERR_NXREC: return "no such record";
	case ARERR_TIMEOUT: return "no name server answered";
	case ARERR_CANTSEND: return "cannot send to a name server";
	case ARERR_REQINVAL: return "not a domain name";
	case ARERR_RESPINVAL: return "malformed response of the name server";
	default: return strerror(err);
	}
}

int dns_tmperr(int err)
{
	return err == TRY_AGAIN || err == ARERR_TIMEOUT || err == ARERR_CANTSEND || err == EAGAIN || err == ENOMEM ||
	       err == EMFILE || err == ENFILE;
}

namespace
{

int error_of_evdns(int result)
{
	switch (result) {
	case DNS_ERR_NONE: return 0;
	case DNS_ERR_NOTEXIST: return HOST_NOT_FOUND;
	case DNS_ERR_NODATA: return NO_DATA;
	case DNS_ERR_TIMEOUT: return ARERR_TIMEOUT;
	case DNS_ERR_SERVERFAILED: return TRY_AGAIN;
	default: return NO_RECOVERY;
	}
}

/* ---------------------------------------------------------------- hosts */

/* A hostent with what it points to. */
struct host : hostent {
	std::string name;
	std::deque<std::string> bytes;
	std::vector<char *> list;
	char *no_alias;

	host(const std::string &n, int family, const std::vector<std::string> &addresses);
};

host::host(const std::string &n, int family, const std::vector<std::string> &addresses)
	: hostent(), name(n), bytes(addresses.begin(), addresses.end()), no_alias(nullptr)
{
	if (!name.empty() && name.back() == '.')
		name.pop_back();
	for (std::string &b : bytes)
		list.push_back(&b[0]);
	list.push_back(nullptr);
	h_name = &name[0];
	h_aliases = &no_alias;
	h_addrtype = family;
	h_length = family == AF_INET ? 4 : 16;
	h_addr_list = list.data();
}

ptr<hostent> make_host(const std::string &name, int family, const std::vector<std::string> &addresses)
{
	return New refcounted<host>(name, family, addresses);
}

/* A name: with each domain of the search list IPv4 addresses, and if they may be others, IPv6. */
class host_question : public dnsreq
{
	std::string name;
	cbhent cb;
	bool is_search, is_any;
	std::vector<std::string> names;
	size_t name_at = 0;
	int family = AF_INET;
	struct evdns_request *request = nullptr;

	bool answer_from_hosts();
	void ask();
	void ask_next(int err);
	void end(ptr<hostent> h, int err);
	static void on_answer(int result, char type, int num, int ttl, void *addresses, void *arg);
	~host_question() override {}

protected:
	void begin() override;
	void drop() override;

public:
	host_question(const std::string &n, cbhent c, bool search, bool any)
		: dnsreq(c->get_color()), name(n), cb(c), is_search(search), is_any(any)
	{
	}
};

/* False: the file has no address. */
bool host_question::answer_from_hosts()
{
	std::vector<std::string> found;

	for (int f : { AF_INET, AF_INET6 }) {
		if (f == AF_INET6 && !is_any)
			break;
		if (!libasync::resolver_hosts(name, f, &found)) {
			end(NULL, errno);
			return true;
		}
		if (!found.empty()) {
			end(make_host(name, f, found), 0);
			return true;
		}
	}
	return false;
}

void host_question::begin()
{
	if (answer_from_hosts())
		return;
	if (!libasync::dns_is_name(name)) {
		end(NULL, ARERR_REQINVAL);
		return;
	}
	names = libasync::resolver_names(name, is_search);
	if (names.empty())
		end(NULL, errno);
	else
		ask();
}

void host_question::ask()
{
	struct evdns_base *dns = libasync::resolver();
	const char *asked = names[name_at].c_str();

	if (!libasync::dns_is_name(names[name_at])) {
		ask_next(HOST_NOT_FOUND);	/* with the domain it is too long */
		return;
	}
	if (dns != nullptr && family == AF_INET)
		request = evdns_base_resolve_ipv4(dns, asked, DNS_QUERY_NO_SEARCH, on_answer, this);
	else if (dns != nullptr)
		request = evdns_base_resolve_ipv6(dns, asked, DNS_QUERY_NO_SEARCH, on_answer, this);
	if (request == nullptr)
		end(NULL, dns == nullptr ? errno : TRY_AGAIN);
}

void host_question::on_answer(int result, char, int num, int, void *addresses, void *arg)
{
	host_question *q = static_cast<host_question *>(arg);
	size_t len = q->family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr);
	std::vector<std::string> all;

	if (result == DNS_ERR_CANCEL) {
		delete q;
		return;
	}
	q->request = nullptr;
	if (result != DNS_ERR_NONE || num <= 0) {
		q->ask_next(result == DNS_ERR_NONE ? NO_DATA : error_of_evdns(result));
		return;
	}
	all.reserve(static_cast<size_t>(num));
	for (int i = 0; i < num; i++)
		all.emplace_back(static_cast<char *>(addresses) + static_cast<size_t>(i) * len, len);
	q->end(make_host(q->names[q->name_at], q->family, all), 0);
}

void host_question::ask_next(int err)
{
	if (err != HOST_NOT_FOUND && err != NO_DATA) {
		end(NULL, err);
		return;
	}
	if (is_any && family == AF_INET) {
		family = AF_INET6;
		ask();
		return;
	}
	family = AF_INET;
	if (++name_at < names.size())
		ask();
	else
		end(NULL, err);
}

void host_question::end(ptr<hostent> h, int err)
{
	finish_later([c = cb, h, err]() {
		errno = err;
		(*c)(h, err);
	});
}

/* evdns tells of the cancel, at once or soon: on_answer deletes. The request knows its evdns_base. */
void host_question::drop()
{
	if (request != nullptr)
		evdns_cancel_request(nullptr, request);
	else
		delete this;
}

/* An address. */
class address_question : public dnsreq
{
	in_addr addr;
	cbhent cb;
	struct evdns_request *request = nullptr;

	void end(ptr<hostent> h, int err);
	static void on_answer(int result, char type, int num, int ttl, void *names, void *arg);
	~address_question() override {}

protected:
	void begin() override;
	void drop() override;

public:
	address_question(const in_addr a, cbhent c) : dnsreq(c->get_color()), addr(a), cb(c) {}
};

void address_question::begin()
{
	struct evdns_base *dns = libasync::resolver();

	if (dns != nullptr)
		request = evdns_base_resolve_reverse(dns, &addr, 0, on_answer, this);
	if (request == nullptr)
		end(NULL, dns == nullptr ? errno : TRY_AGAIN);
}

void address_question::on_answer(int result, char, int num, int, void *names, void *arg)
{
	address_question *q = static_cast<address_question *>(arg);
	std::string bytes(reinterpret_cast<char *>(&q->addr), sizeof(q->addr));

	if (result == DNS_ERR_CANCEL) {
		delete q;
		return;
	}
	q->request = nullptr;
	if (result == DNS_ERR_NONE && num > 0)
		q->end(make_host(static_cast<char **>(names)[0], AF_INET, { bytes }), 0);
	else
		q->end(NULL, result == DNS_ERR_NONE ? NO_DATA : error_of_evdns(result));
}

void address_question::end(ptr<hostent> h, int err)
{
	finish_later([c = cb, h, err]() {
		errno = err;
		(*c)(h, err);
	});
}

void address_question::drop()
{
	if (request != nullptr)
		evdns_cancel_request(nullptr, request);
	else
		delete this;
}

/* An address as text: the callback runs at once, or in its color. */
bool answer_literal(const std::string &name, cbhent cb, bool is_any)
{
	char bytes[16];
	int family = AF_INET;

	if (name.find('\0') != std::string::npos)
		return false;
	if (inet_pton(AF_INET, name.c_str(), bytes) != 1) {
		if (!is_any || inet_pton(AF_INET6, name.c_str(), bytes) != 1)
			return false;
		family = AF_INET6;
	}
	errno = 0;
	cb->trigger(make_host(name, family, { std::string(bytes, family == AF_INET ? 4 : 16) }), 0);
	return true;
}

} // namespace

dnsreq_t *libasync::host_by_name(str name, cbhent cb, bool search, bool addrok, bool is_any)
{
	std::string text(name.cstr(), name.len());

	if (addrok && answer_literal(text, cb, is_any))
		return nullptr;
	return (New host_question(text, cb, search, is_any))->launch();
}

dnsreq_t *dns_hostbyname(str name, cbhent cb, bool search, bool addrok)
{
	return libasync::host_by_name(name, cb, search, addrok, false);
}

dnsreq_t *dns_hostbyaddr(const in_addr addr, cbhent cb)
{
	return (New address_question(addr, cb))->launch();
}
