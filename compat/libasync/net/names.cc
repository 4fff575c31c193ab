/*
 * The names and addresses of this machine. None of these asks the network.
 */
#include "amisc.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <string>

namespace
{

std::string host_name()
{
	char buf[256];

	if (gethostname(buf, sizeof(buf) - 1) < 0)
		return "";
	buf[sizeof(buf) - 1] = '\0';
	return buf;
}

/* The word after `domain`, or the first one after `search`; the last such line counts, as for the resolver. */
std::string domain_of_resolv_conf()
{
	std::string found;
	char line[1024];
	FILE *f = fopen("/etc/resolv.conf", "re");

	if (f == nullptr)
		return "";
	while (fgets(line, sizeof(line), f) != nullptr) {
		char key[16], value[256];

		if (sscanf(line, "%15s %255s", key, value) == 2 &&
		    (strcmp(key, "domain") == 0 || strcmp(key, "search") == 0))
			found = value;
	}
	fclose(f);
	return found == "." ? "" : found;
}

std::string domain()
{
	std::string host = host_name();
	size_t dot = host.find('.');

	return dot != std::string::npos ? host.substr(dot + 1) : domain_of_resolv_conf();
}

} // namespace

str mydomain()
{
	std::string name = domain();

	return name.empty() ? str(NULL) : str(name.data(), name.size());
}

str myname()
{
	std::string host = host_name(), rest;

	if (host.empty())
		return NULL;
	if (host.find('.') == std::string::npos) {
		rest = domain();
		if (!rest.empty())
			host += "." + rest;
	}
	return str(host.data(), host.size());
}

bool myipaddrs(vec<in_addr> *res)
{
	struct ifaddrs *all;

	if (getifaddrs(&all) < 0)
		return false;
	res->clear();
	for (int is_loopback = 0; is_loopback < 2; is_loopback++) {
		for (struct ifaddrs *i = all; i != nullptr; i = i->ifa_next) {
			struct sockaddr_in sin;

			if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP))
				continue;
			if (!!(i->ifa_flags & IFF_LOOPBACK) != is_loopback)
				continue;
			memcpy(&sin, i->ifa_addr, sizeof(sin));
			res->push_back(sin.sin_addr);
		}
	}
	freeifaddrs(all);
	return true;
}
