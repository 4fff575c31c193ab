/*
 * Mail exchangers, services and texts: the questions that evdns cannot ask.
 *
 * A question goes to the servers that evdns knows, one after the other, 2 seconds each and three rounds. A socket
 * of its own, connected to the server, and a random number keep forgers out. A truncated answer is asked for anew
 * over TCP. Names to try come from the search list; the next one is tried if there is no such name or record.
 */
#include "dns.h"

#include <event2/util.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "net/packet.h"
#include "net/question.h"
#include "net/resolver.h"

namespace
{

using libasync::dns_answer;
using libasync::dns_record;

enum { ROUNDS = 3, TRY_SECONDS = 2, PACKET_MAX = 65535, REFUSED = 5, NXDOMAIN = 3 };

typedef callback<void, dns_answer *, int>::ref cbanswer;

/* own: all fields are the color's of the callback */
class record_question : public dnsreq
{
	std::vector<std::string> names;
	unsigned type;
	bool is_search;
	size_t name_at = 0, try_at = 0;
	std::vector<struct sockaddr_storage> servers;
	std::string question, stream;
	int fd = -1;
	bool is_tcp = false, is_writing = false;
	int last_err = ARERR_TIMEOUT;
	timecb_t *timer = nullptr;

	void ask_name();
	void ask_server();
	void ask_by_tcp();
	void next_server(int err);
	bool open_socket(int kind);
	void close_socket();
	void timed_out();
	void readable();
	void writable();
	bool receive(std::string *packet);
	bool receive_stream(std::string *packet);
	void take(const std::string &packet);
	void no_such(int err);

protected:
	void begin() override;
	void drop() override;
	~record_question() override {}
	virtual void end(const std::string &name, dns_answer *answer, int err) = 0;

public:
	record_question(const std::string &name, bool search, unsigned t, color c)
		: dnsreq(c), names({ name }), type(t), is_search(search)
	{
	}
};

void record_question::begin()
{
	const std::string name = names[0];

	servers = libasync::resolver_servers();
	if (!servers.empty())
		names = libasync::resolver_names(name, is_search);
	if (servers.empty() || names.empty())
		end(name, nullptr, errno);
	else
		ask_name();
}

void record_question::ask_name()
{
	unsigned char id[2];

	evutil_secure_rng_get_bytes(id, sizeof(id));
	question = libasync::dns_question(static_cast<uint16_t>(id[0] << 8 | id[1]), names[name_at], type);
	try_at = 0;
	if (question.empty())
		no_such(ARERR_REQINVAL);
	else
		ask_server();
}

bool record_question::open_socket(int kind)
{
	const struct sockaddr_storage &sa = servers[try_at % servers.size()];
	socklen_t len = sa.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	fd = socket(sa.ss_family, kind | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	return connect(fd, reinterpret_cast<const struct sockaddr *>(&sa), len) == 0 || errno == EINPROGRESS;
}

void record_question::close_socket()
{
	if (timer != nullptr)
		timecb_remove(timer);
	timer = nullptr;
	if (fd < 0)
		return;
	fdcb(fd, selread, NULL);
	if (is_writing)
		fdcb(fd, selwrite, NULL);
	is_writing = false;
	close(fd);
	fd = -1;
}

void record_question::ask_server()
{
	is_tcp = false;
	if (!open_socket(SOCK_DGRAM) || send(fd, question.data(), question.size(), MSG_NOSIGNAL) < 0) {
		next_server(fd < 0 ? errno : ARERR_CANTSEND);
		return;
	}
	fdcb(fd, selread, cwrap(this, &record_question::readable, home));
	timer = delaycb(TRY_SECONDS, 0, cwrap(this, &record_question::timed_out, home));
}

void record_question::ask_by_tcp()
{
	close_socket();
	is_tcp = true;
	stream.clear();
	if (!open_socket(SOCK_STREAM)) {
		next_server(fd < 0 ? errno : ARERR_CANTSEND);
		return;
	}
	is_writing = true;
	fdcb(fd, selwrite, cwrap(this, &record_question::writable, home));
	timer = delaycb(TRY_SECONDS, 0, cwrap(this, &record_question::timed_out, home));
}

/* A question is shorter than any socket's buffer. */
void record_question::writable()
{
	std::string framed;

	is_writing = false;
	fdcb(fd, selwrite, NULL);
	framed += static_cast<char>(question.size() >> 8);
	framed += static_cast<char>(question.size() & 0xff);
	framed += question;
	if (send(fd, framed.data(), framed.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(framed.size())) {
		next_server(ARERR_CANTSEND);
		return;
	}
	fdcb(fd, selread, cwrap(this, &record_question::readable, home));
}

void record_question::timed_out()
{
	timer = nullptr;
	next_server(ARERR_TIMEOUT);
}

void record_question::next_server(int err)
{
	close_socket();
	last_err = err;
	if (++try_at < servers.size() * ROUNDS && err != EMFILE && err != ENFILE)
		ask_server();
	else
		end(names[name_at], nullptr, last_err);
}

/* False: nothing whole is there, or the server is given up. */
bool record_question::receive_stream(std::string *packet)
{
	char buf[4096];
	ssize_t n = read(fd, buf, sizeof(buf));
	size_t len;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	if (n <= 0) {
		next_server(ARERR_CANTSEND);
		return false;
	}
	stream.append(buf, static_cast<size_t>(n));
	if (stream.size() < 2)
		return false;
	len = static_cast<size_t>(static_cast<unsigned char>(stream[0]) << 8 | static_cast<unsigned char>(stream[1]));
	if (stream.size() < len + 2)
		return false;
	*packet = stream.substr(2, len);
	return true;
}

bool record_question::receive(std::string *packet)
{
	ssize_t n;

	if (is_tcp)
		return receive_stream(packet);
	packet->resize(PACKET_MAX);
	n = recv(fd, &(*packet)[0], packet->size(), 0);
	if (n >= 0) {
		packet->resize(static_cast<size_t>(n));
		return true;
	}
	if (errno != EAGAIN && errno != EINTR)
		next_server(ARERR_CANTSEND);
	return false;
}

void record_question::readable()
{
	std::string packet;

	if (receive(&packet))
		take(packet);
}

/* What is no response to this question may be a forger's: wait on. */
void record_question::take(const std::string &packet)
{
	dns_answer answer;

	if (!libasync::dns_parse(question, packet, &answer)) {
		if (is_tcp)
			next_server(ARERR_RESPINVAL);
		return;
	}
	if (answer.is_truncated && !is_tcp) {
		ask_by_tcp();
		return;
	}
	if (answer.rcode != 0 && answer.rcode != NXDOMAIN) {
		next_server(answer.rcode == REFUSED ? NO_RECOVERY : TRY_AGAIN);
		return;
	}
	close_socket();
	if (answer.answers.empty())
		no_such(answer.rcode == NXDOMAIN ? HOST_NOT_FOUND : ARERR_NXREC);
	else
		end(names[name_at], &answer, 0);
}

void record_question::no_such(int err)
{
	close_socket();
	if (++name_at < names.size())
		ask_name();
	else
		end(names.back(), nullptr, err);
}

void record_question::drop()
{
	close_socket();
	delete this;
}

/* ---------------------------------------------------------------- lists */

/* A list with the strings and arrays that it points to. */
template <class List, class Rec> struct owned_list : List {
	std::string of;
	std::deque<std::string> strings;
	std::vector<Rec> recs;
	std::deque<addrhint> hints;
	std::vector<addrhint *> hint_list;

	owned_list(const std::string &name, const dns_answer &answer) : List(), of(name)
	{
		for (const dns_record &a : answer.addresses) {
			addrhint h = {};

			h.h_name = keep(a.name);
			h.h_addrtype = AF_INET;
			h.h_length = static_cast<int>(a.data.size());
			memcpy(h.h_address, a.data.data(), a.data.size());
			hints.push_back(h);
		}
		for (addrhint &h : hints)
			hint_list.push_back(&h);
		hint_list.push_back(nullptr);
	}

	char *keep(const std::string &s)
	{
		strings.push_back(s);
		return &strings.back()[0];
	}
};

struct owned_mx : owned_list<mxlist, mxrec> {
	owned_mx(const std::string &name, const dns_answer &answer);
};

owned_mx::owned_mx(const std::string &name, const dns_answer &answer) : owned_list(name, answer)
{
	for (const dns_record &r : answer.answers)
		recs.push_back({ r.numbers[0], keep(r.data) });
	std::stable_sort(recs.begin(), recs.end(), [](const mxrec &a, const mxrec &b) { return a.pref < b.pref; });
	m_name = &of[0];
	m_hints = hint_list.data();
	m_nmx = static_cast<u_int>(recs.size());
	m_mxes = recs.data();
}

struct owned_srv : owned_list<srvlist, srvrec> {
	owned_srv(const std::string &name, const dns_answer &answer);

private:
	void shuffle(size_t from, size_t to);
};

/* RFC 2782: of one priority, the next one is drawn with a probability by weight. */
void owned_srv::shuffle(size_t from, size_t to)
{
	for (; from + 1 < to; from++) {
		unsigned sum = 0, drawn;

		for (size_t i = from; i < to; i++)
			sum += recs[i].weight + 1U;
		evutil_secure_rng_get_bytes(&drawn, sizeof(drawn));
		drawn %= sum;
		for (size_t i = from; i < to; i++) {
			if (drawn < recs[i].weight + 1U) {
				std::swap(recs[from], recs[i]);
				break;
			}
			drawn -= recs[i].weight + 1U;
		}
	}
}

owned_srv::owned_srv(const std::string &name, const dns_answer &answer) : owned_list(name, answer)
{
	for (const dns_record &r : answer.answers)
		recs.push_back({ r.numbers[0], r.numbers[1], r.numbers[2], keep(r.data) });
	std::stable_sort(recs.begin(), recs.end(), [](const srvrec &a, const srvrec &b) { return a.prio < b.prio; });
	for (size_t from = 0, to; from < recs.size(); from = to) {
		for (to = from; to < recs.size() && recs[to].prio == recs[from].prio;)
			to++;
		shuffle(from, to);
	}
	s_name = &of[0];
	s_hints = hint_list.data();
	s_nsrv = static_cast<u_int>(recs.size());
	s_srvs = recs.data();
}

struct owned_txt : owned_list<txtlist, char *> {
	owned_txt(const std::string &name, const dns_answer &answer) : owned_list(name, answer)
	{
		for (const dns_record &r : answer.answers)
			recs.push_back(keep(r.data));
		t_name = &of[0];
		t_ntxt = static_cast<u_int>(recs.size());
		t_txts = recs.data();
	}
};

template <class List, class Owned> class list_question : public record_question
{
	typedef typename callback<void, ptr<List>, int>::ref cblist;
	cblist cb;

protected:
	void end(const std::string &name, dns_answer *answer, int err) override
	{
		ptr<List> list;

		if (answer != nullptr)
			list = New refcounted<Owned>(name, *answer);
		finish_later([c = cb, list, err]() {
			errno = err;
			(*c)(list, err);
		});
	}

public:
	list_question(const str &name, bool search, unsigned rec_type, cblist c)
		: record_question(std::string(name.cstr(), name.len()), search, rec_type, c->get_color()), cb(c)
	{
	}
};

} // namespace

dnsreq_t *dns_mxbyname(str name, cbmxlist cb, bool search)
{
	return (New list_question<mxlist, owned_mx>(name, search, libasync::DNS_MX, cb))->launch();
}

dnsreq_t *dns_srvbyname(str name, cbsrvlist cb, bool search)
{
	return (New list_question<srvlist, owned_srv>(name, search, libasync::DNS_SRV, cb))->launch();
}

dnsreq_t *dns_txtbyname(str name, cbtxtlist cb, bool search)
{
	return (New list_question<txtlist, owned_txt>(name, search, libasync::DNS_TXT, cb))->launch();
}
