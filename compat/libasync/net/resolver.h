/*
 * Which servers answer questions, and which domains complete a name.
 */
#ifndef NET_RESOLVER_H
#define NET_RESOLVER_H

#include <sys/socket.h>

#include <string>
#include <vector>

struct evdns_base;

namespace libasync
{

/*
 * The process's evdns_base, with the servers of resolv.conf as it is now; it has at least one. NULL with errno: there
 * are no descriptors to read the file or to reach a server. Any thread.
 */
struct evdns_base *resolver();

/* The servers' addresses. Any thread. */
std::vector<struct sockaddr_storage> resolver_servers();

/* The names to ask for: `name`, and if `is_search` with the domains of resolv.conf. None: errno. Any thread. */
std::vector<std::string> resolver_names(const std::string &name, bool is_search);

/*
 * Another file than /etc/resolv.conf, or a server ("ADDRESS:PORT") instead of one; NULL: neither. Another hosts file.
 * For tests, before the first question or between two.
 */
void resolver_use(const char *resolv_conf, const char *server, const char *hosts);

/*
 * The addresses of `name` in the hosts file, of one family (AF_INET, AF_INET6). False: no descriptor is left to read
 * it, and errno says so.
 */
bool resolver_hosts(const std::string &name, int family, std::vector<std::string> *ret);

} // namespace libasync

#endif
