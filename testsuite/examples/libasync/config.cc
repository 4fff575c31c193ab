/*
 * Reads a configuration file and prints what it says.
 *
 * usage: config FILE
 *
 * The file has lines such as
 *
 *	port 8080
 *	root "/var/www/my pages"
 *	keepalive off
 *	load 0.75
 *	alias /old /new		# as often as you like
 */
#include <algorithm>

#include "async.h"
#include "parseopt.h"
#include "qhash.h"
#include "str.h"
#include "vec.h"

struct config {
	int port;
	str root;
	bool keepalive;
	double load;
	qhash<str, str> aliases;

	bool read(str file);
	void print();

private:
	void alias(vec<str> words, str where, bool *errp);
};

void config::alias(vec<str> words, str where, bool *errp)
{
	if (words.size() != 3) {
		fprintf(stderr, "%s: usage: alias FROM TO\n", where.cstr());
		*errp = true;
		return;
	}
	aliases.insert(words[1], words[2]);
}

bool config::read(str file)
{
	conftab ct;

	ct.add("port", &port, 1, 65535, 80);
	ct.add("root", &root, "/srv");
	ct.add("keepalive", &keepalive, true);
	ct.add("load", &load, 0.0, 1.0, 0.5);
	ct.add("alias", wrap(this, &config::alias));
	ct.ignore("user");
	return ct.run(file, CONFTAB_APPLY_DEFAULTS);
}

void config::print()
{
	vec<str> names;
	strbuf sb;

	qhash_iterator_t<str, str> it(aliases);
	while (const str *from = it.next())
		names.push_back(*from);
	std::sort(names.base(), names.lim());

	sb << "port " << port << "\nroot " << root << "\n";
	sb.fmt("keepalive %s\nload %.2f\n", keepalive ? "on" : "off", load);
	for (size_t i = 0; i < names.size(); i++)
		sb << "alias " << names[i] << " to " << *aliases[names[i]] << "\n";
	sb.tosuio()->output(1);
}

int main(int argc, char **argv)
{
	config c;

	if (argc != 2) {
		fprintf(stderr, "usage: config FILE\n");
		return 1;
	}
	if (!c.read(argv[1]))
		return 1;
	c.print();
}
