/*
 * The evdns_base of the process.
 *
 * A mutex guards the fields. evdns has its own: questions need none of ours. The file is looked at again with each
 * question, so a change counts from the next question on; those that wait keep their servers or are asked anew, as
 * evdns decides.
 *
 * A question to an evdns_base without servers waits until it gets some. So nobody gets one without: if there are no
 * descriptors to read the file or to reach a server, the question fails, and the next one looks at the file again.
 */
#include "net/resolver.h"

#include <arpa/inet.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sstream>
#include <fstream>

#include "async.h"

namespace libasync
{

namespace
{

struct state {
	std::mutex mutex;
	/* mutex */
	struct evdns_base *dns = nullptr;
	std::string conf = "/etc/resolv.conf", server, hosts = "/etc/hosts";
	struct stat seen = {}; /* of `conf` when it was read */
	std::vector<std::string> domains;
	unsigned ndots = 1;
};

/* Never destroyed: questions may be under way at exit. */
state &all()
{
	static state *s = new state;

	return *s;
}

bool is_changed(const struct stat &a, const struct stat &b)
{
	return a.st_ino != b.st_ino || a.st_size != b.st_size || a.st_mtim.tv_sec != b.st_mtim.tv_sec ||
	       a.st_mtim.tv_nsec != b.st_mtim.tv_nsec;
}

/* `search` and `domain`: the last line counts. `options ndots:N`. */
void read_domains(state *s)
{
	std::ifstream in(s->conf);
	std::string line, word;

	s->domains.clear();
	s->ndots = 1;
	while (std::getline(in, line)) {
		std::istringstream words(line);

		words >> word;
		if (word == "search" || word == "domain") {
			s->domains.clear();
			while (words >> word)
				s->domains.push_back(word);
		} else if (word == "options") {
			while (words >> word)
				(void)sscanf(word.c_str(), "ndots:%u", &s->ndots);
		}
	}
}

void read_conf(state *s)
{
	evdns_base_clear_nameservers_and_suspend(s->dns);
	read_domains(s);
	evdns_base_resolv_conf_parse(s->dns, DNS_OPTION_NAMESERVERS | DNS_OPTION_MISC, s->conf.c_str());
	if (!s->server.empty()) {
		evdns_base_clear_nameservers_and_suspend(s->dns);
		evdns_base_nameserver_ip_add(s->dns, s->server.c_str());
	}
	evdns_base_resume(s->dns);
}

/* One reads the file, is closed, and reaches the first server. False: errno. */
bool is_descriptor_free()
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return errno != EMFILE && errno != ENFILE;
	close(fd);
	return true;
}

bool has_servers(const state *s)
{
	return evdns_base_count_nameservers(s->dns) > 0;
}

/* False: there is no server, and errno says why. */
bool follow_conf(state *s)
{
	struct stat sb = {};

	(void)stat(s->conf.c_str(), &sb);
	if (!is_changed(sb, s->seen))
		return true;
	if (!is_descriptor_free())
		return has_servers(s);	/* those of before */
	s->seen = sb;
	errno = 0;
	read_conf(s);
	if (has_servers(s))
		return true;
	s->seen.st_size = -1;
	if (errno == 0)
		errno = EAGAIN;
	return false;
}

struct evdns_base *current(state *s)
{
	struct event_base *loop = base();	/* in a child of fork, before its descriptors change */

	if (s->dns == nullptr) {
		s->dns = evdns_base_new(loop, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
		if (s->dns == nullptr) {
			errno = ENOMEM;
			return nullptr;
		}
		evdns_base_set_option(s->dns, "randomize-case:", "0");
		s->seen.st_size = -1;
	}
	return follow_conf(s) ? s->dns : nullptr;
}

} // namespace

struct evdns_base *resolver()
{
	std::lock_guard<std::mutex> hold(all().mutex);

	return current(&all());
}

std::vector<struct sockaddr_storage> resolver_servers()
{
	std::lock_guard<std::mutex> hold(all().mutex);
	struct evdns_base *dns = current(&all());
	std::vector<struct sockaddr_storage> ret;

	for (int i = 0; dns != nullptr && i < evdns_base_count_nameservers(dns); i++) {
		struct sockaddr_storage sa = {};

		if (evdns_base_get_nameserver_addr(dns, i, reinterpret_cast<struct sockaddr *>(&sa), sizeof(sa)) > 0)
			ret.push_back(sa);
	}
	return ret;
}

std::vector<std::string> resolver_names(const std::string &name, bool is_search)
{
	std::lock_guard<std::mutex> hold(all().mutex);
	state *s = &all();
	std::vector<std::string> ret;
	unsigned dots = 0;

	if (current(s) == nullptr)
		return {};
	for (char c : name)
		dots += c == '.';
	if (!is_search || (!name.empty() && name.back() == '.'))
		return { name };
	for (const std::string &domain : s->domains)
		ret.emplace_back(name).append(".").append(domain);
	ret.insert(dots >= s->ndots ? ret.begin() : ret.end(), name);
	return ret;
}

void resolver_use(const char *resolv_conf, const char *server, const char *hosts)
{
	std::lock_guard<std::mutex> hold(all().mutex);
	state *s = &all();

	s->conf = resolv_conf != nullptr ? resolv_conf : "/etc/resolv.conf";
	s->server = server != nullptr ? server : "";
	s->hosts = hosts != nullptr ? hosts : "/etc/hosts";
	s->seen = {};
	s->seen.st_size = -1;
}

bool resolver_hosts(const std::string &name, int family, std::vector<std::string> *ret)
{
	std::string path, line, word;

	{
		std::lock_guard<std::mutex> hold(all().mutex);
		path = all().hosts;
	}
	std::ifstream in(path);
	if (!in.is_open() && (errno == EMFILE || errno == ENFILE))
		return false;
	ret->clear();
	while (std::getline(in, line)) {
		std::istringstream words(line.substr(0, line.find('#')));
		char addr[sizeof(struct in6_addr)];
		std::string address;

		if (!(words >> address) || inet_pton(family, address.c_str(), addr) != 1)
			continue;
		while (words >> word) {
			if (strcasecmp(word.c_str(), name.c_str()) == 0)
				ret->emplace_back(addr, family == AF_INET ? sizeof(struct in_addr) : sizeof(addr));
		}
	}
	return true;
}

} // namespace libasync
