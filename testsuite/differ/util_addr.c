/*
 * evutil's addresses: text to bytes and back, ports, scopes, comparing.
 */
#include "trace.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>

#include <event2/util.h>

static const char *const addresses[] = {
	/* IPv4 */
	"1.2.3.4", "0.0.0.0", "255.255.255.255", "256.1.1.1", "1.2.3", "1.2.3.4.5", "1.2.3.",
	".1.2.3", "1..2.3", "01.2.3.4", "1.2.3.04", "001.002.003.004", "1.2.3.0004", "0x1.2.3.4",
	"1.2.3.4 ", " 1.2.3.4", "1.2.3.4x", "-1.2.3.4", "+1.2.3.4", "1.2.3.-4", "1", "16909060",
	"127.1", "1.2.3.4%1", "1.2.3.4%lo", "4294967297.0.0.0", "1.2.3.4\n", "a.b.c.d",
	"192.168.000.1",
	/* IPv6 */
	"::", "::1", "1::", "1::2", "::ffff:1.2.3.4", "::1.2.3.4", "1:2:3:4:5:6:7:8",
	"1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4",
	"1:2:3:4:5:1.2.3.4", "1::1.2.3.4", "::1.2.3", "::1.2.3.256", "::1.2.3.4.5", "1.2.3.4::",
	"::ffff:0x1.2.3.4", "::01.2.3.4", "fe80::", "FE80::ABCD", "fE80::aBcD", ":", ":::", "::::",
	"1:::2", "1::2::3", ":1", "1:", ":1::", "1::2:", "12345::", "0001::", "00001::", "g::",
	"::g", "::-1", "::+1", ":: 1", " ::1", "::1 ", "2001:db8::1",
	"2001:0db8:0000:0000:0000:0000:0000:0001", "1:0:0:2:0:0:0:3", "0:0:1::", "::2:3:4:5:6:7:8",
	"1:2:3:4:5:6:7::", "1::3:4:5:6:7:8", "1:2:3::5:6:7:8:9", "::1:2:3:4:5:6:7:8",
	"1:2:3:4:5:6:7:8::", "::1:", "1:2::3:", "1:2:3:4:5:6:7:8:", "::1.2.3.4:", "1:1.2.3.4:",
	"::1::", "1:2:3:4:5:6:7:", "1::2:3:4:5:6:7:", "::2:3:4:5:6:7:8:", "1::2:3:4:5:6:7:8:",
	":: 1.2.3.4", "::+1.2.3.4", "::1.2.3.4 ", "::1. 2.3.4",
	"::00000000000000000000000000000000000000000000001.2.3.4", "1.2.3.4:",
	"0000:0000:0000:0000:0000:0000:255.255.255.255",
	"0000:0000:0000:0000:0000:ffff:0255.0255.0255.0255", "1. 2.+3.4", "1.2.3.4294967295",
	"1.2.3.18446744073709551617", "0000000000000000000000000000000000000000000000000001.2.3.4",
	"1.2.3.4%", "::%", "::1.2.3", "::1.", "::.", "1:2:3:4:5:6:7:.", "::1.2.3.4::", "::1:2.",
	"64:ff9b::192.0.2.33", "1:2:3:4::5:6:7:8", "::ffff:1.2.3.4:5", "0:0:0:0:0:0:0:0", "0::0::0",
	/* scopes */
	"fe80::1%lo", "fe80::1%1", "fe80::1%0", "fe80::1%", "fe80::1%%", "fe80::1%lo%1",
	"fe80::1%nosuchif0", "fe80::1%-1", "fe80::1%+1", "fe80::1% 1", "fe80::1%1x", "fe80::1%x1",
	"fe80::1%0x1", "fe80::1%4294967295", "fe80::1%4294967296", "fe80::1%99999999999999999999",
	"fe80::1%2147483648", "fe80::1%01", "%1", "::%lo", "%lo", "1::2%3::4",
	"::1%12345678901234567890", "2001:db8::1%5", "fe80::1%1 ", "fe80::1%\t1",
	"::ffff:1.2.3.4%2",
	/* neither */
	"", " ", "localhost", "[::1]", "[::1", "::1]", "%",
};

static const char *hex(const unsigned char *bytes, size_t len)
{
	static char text[64];

	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	return text;
}

static void parsing(void)
{
	unsigned char out[16];
	unsigned scope;
	int r;

	section("inet_pton");
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		memset(out, 0xaa, sizeof(out));
		r = evutil_inet_pton(AF_INET, addresses[i], out);
		say("<%s> 4: %d %s", addresses[i], r, r == 1 ? hex(out, 4) : "");
		memset(out, 0xaa, sizeof(out));
		r = evutil_inet_pton(AF_INET6, addresses[i], out);
		say("<%s> 6: %d %s", addresses[i], r, r == 1 ? hex(out, 16) : "");
		memset(out, 0xaa, sizeof(out));
		scope = 77;
		r = evutil_inet_pton_scope(AF_INET6, addresses[i], out, &scope);
		say("<%s> scope: %d %s %u", addresses[i], r, r == 1 ? hex(out, 16) : "",
		    r == 1 ? scope : 0);
		scope = 77;
		r = evutil_inet_pton_scope(AF_INET, addresses[i], out, &scope);
		say("<%s> scope 4: %d %s %u", addresses[i], r, r == 1 ? hex(out, 4) : "",
		    r == 1 ? scope : 0);
	}
	say("other families: %d %d", evutil_inet_pton(AF_UNIX, "1.2.3.4", out),
	    evutil_inet_pton(-1, "1.2.3.4", out));
}

/*
 * Every length of buffer but the one that is short by the final NUL: there stock cuts an IPv6
 * address and returns it as if whole, where its documentation (inet_ntop's) and ours return NULL.
 */
static void format_in_all(int af, const unsigned char *bytes, const char *name)
{
	char text[64];
	const char *r;
	size_t full;

	must(evutil_inet_ntop(af, bytes, text, sizeof(text)) != NULL, "format an address");
	full = strlen(text);
	for (size_t len = 0; len <= INET6_ADDRSTRLEN + 1; len++) {
		if (len == full)
			continue;
		memset(text, '#', sizeof(text));
		text[63] = '\0';
		r = evutil_inet_ntop(af, bytes, text, len);
		if (r == NULL)
			say("%s in %zu: NULL", name, len);
		else
			say("%s in %zu: <%s> %s", name, len, r, r == text ? "there" : "else");
	}
}

static void formatting(void)
{
	static const char *const six[] = {
		"::", "::1", "1::", "1:0:0:2::3", "1:2:3:4:5:6:7:8", "1:0:3:0:5:0:7:0",
		"0:1:0:1:0:1:0:1", "1:0:0:1:0:0:0:1", "1:0:0:0:1:0:0:1", "0:0:1:0:0:1:0:0",
		"::1.2.3.4", "::ffff:1.2.3.4", "::ffff:0:1.2.3.4", "::0.0.1.2", "::1.0.0.0",
		"::0.1.0.0", "fe80::abcd:ef01", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
		"1:2:3:4:5:6:7:0", "0:2:3:4:5:6:7:8", "1:2:3:4:5:6:0:0", "64:ff9b::1.2.3.4",
		"::ffff:255.255.255.255", "::fffe:1.2.3.4", "0:0:0:0:1:0:0:0", "0:0:0:0:0:1:0:0",
		"::ffff:0.0.0.0", "::ffff:0.1.0.0", "::ffff:0.0.0.1", "::ffff", "::ffff:0:0:0",
		"0:0:0:1::", "1:2::5:6:0:0", "::ff00:1.0.0.1",
	};
	static const char *const four[] = { "0.0.0.0", "1.2.3.4", "255.255.255.255", "10.0.0.1" };
	unsigned char bytes[16];
	char text[64];

	section("inet_ntop");
	for (size_t i = 0; i < sizeof(four) / sizeof(four[0]); i++) {
		must(inet_pton(AF_INET, four[i], bytes) == 1, "parse");
		format_in_all(AF_INET, bytes, four[i]);
	}
	for (size_t i = 0; i < sizeof(six) / sizeof(six[0]); i++) {
		must(inet_pton(AF_INET6, six[i], bytes) == 1, "parse");
		format_in_all(AF_INET6, bytes, six[i]);
	}
	say("other family: %d", evutil_inet_ntop(AF_UNIX, bytes, text, sizeof(text)) == NULL);
}

static void parse_one(const char *text, int len)
{
	struct sockaddr_storage ss;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&ss;
	struct sockaddr_in *sin = (struct sockaddr_in *)&ss;
	const unsigned char *raw = (const unsigned char *)&ss;
	int out_len = len, r;

	memset(&ss, 0xaa, sizeof(ss));
	r = evutil_parse_sockaddr_port(text, (struct sockaddr *)&ss, &out_len);
	if (r != 0) {
		say("<%s> in %d: %d, length %d, untouched %d", text, len, r, out_len,
		    raw[0] == 0xaa && raw[20] == 0xaa);
		return;
	}
	if (ss.ss_family == AF_INET6)
		say("<%s> in %d: %d, length %d, %s port %d scope %u flow %u", text, len, r, out_len,
		    hex(sin6->sin6_addr.s6_addr, 16), ntohs(sin6->sin6_port), sin6->sin6_scope_id,
		    sin6->sin6_flowinfo);
	else
		say("<%s> in %d: %d, length %d, family %d %s port %d", text, len, r, out_len,
		    ss.ss_family, hex((const unsigned char *)&sin->sin_addr, 4),
		    ntohs(sin->sin_port));
	/* Beyond the address, where there is room: cleared or not? */
	say("  after: %02x %02x %02x %02x", raw[out_len], raw[out_len + 1], raw[60],
	    raw[sizeof(ss) - 1]);
}

#define TEN "1111111111"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void ports(void)
{
	static const char *const texts[] = {
		"1.2.3.4:80", "1.2.3.4:0", "1.2.3.4:", "1.2.3.4:65535", "1.2.3.4:65536",
		"1.2.3.4:-1", "1.2.3.4:+80", "1.2.3.4: 80", "1.2.3.4:80x", "1.2.3.4:x80",
		"1.2.3.4:080", "1.2.3.4:0x50", "1.2.3.4:99999999999", "1.2.3.4:80:90",
		"1.2.3.4:4294967376", "1.2.3.4:80 ", ":80", "[]", "[]:80", "[::1]", "[::1]:80",
		"[::1]:", "[::1]:0", "[::1]:65536", "[::1]80", "[::1]x", "[::1] :80", "[::1]:80]",
		"[1.2.3.4]", "[1.2.3.4]:80", "[[::1]]:80", "[::1", "::1]:80", "[fe80::1%lo]:80",
		"[fe80::1%1]", "[fe80::1%2]:70000", "[fe80::1%nosuch]:80", "[fe80::1%25lo]:80",
		"::1:80", "1:2:3:4:5:6:7:8:80", "fe80::1%1:80", "[::ffff:1.2.3.4]:80",
		"::ffff:1.2.3.4", "::ffff:1.2.3.4:80", "host:80", "localhost", "1.2.3:80", "[", "]",
		":", "::", "[::]:1", "[::]:-5", "[::1]:12ab",
		"[2001:0db8:0000:0000:0000:ffff:192.168.100.100%4294967295]:65535",
		/* longer than any address */
		HUNDRED HUNDRED ":80",
		"[" HUNDRED HUNDRED "]:80",
		"1:1:" HUNDRED HUNDRED,
	};

	section("parse_sockaddr_port");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		parse_one(texts[i], (int)sizeof(struct sockaddr_storage));
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		parse_one(addresses[i], (int)sizeof(struct sockaddr_storage));
	for (int len = -1; len < 30; len++) {
		if (len > 15 && len != 27 && len != 28)
			continue;
		parse_one("1.2.3.4:80", len < 16 ? len : 16);
		parse_one("[::1]:80", len < 28 ? len : 100);
	}
}

/* Only the sign is the same in all versions. */
static int compare(const struct sockaddr_storage *a, const struct sockaddr_storage *b, int port)
{
	int r = evutil_sockaddr_cmp((const struct sockaddr *)a, (const struct sockaddr *)b, port);

	return r < 0 ? -1 : r > 0;
}

static void comparing(void)
{
	static const char *const texts[] = {
		"1.2.3.4:80", "1.2.3.4:81", "1.2.3.4:336", "1.2.3.5:80", "4.3.2.1:80",
		"1.2.3.4:20480", "255.0.0.1:1", "0.0.0.1", "[::1]:80", "[::1]:81", "[::2]:80",
		"[ff::1]:80", "[fe80::1%1]:80", "[fe80::1%2]:80", "[::ffff:1.2.3.4]:80",
	};
	struct sockaddr_storage ss[sizeof(texts) / sizeof(texts[0])];
	const size_t num = sizeof(texts) / sizeof(texts[0]);
	struct sockaddr_storage unix_ss = { .ss_family = AF_UNIX }, other_ss = unix_ss;
	int len;

	section("sockaddr_cmp");
	memset(ss, 0, sizeof(ss));
	for (size_t i = 0; i < num; i++) {
		len = (int)sizeof(ss[i]);
		must(evutil_parse_sockaddr_port(texts[i], (struct sockaddr *)&ss[i], &len) == 0,
		     "parse");
	}
	for (size_t i = 0; i < num; i++) {
		for (size_t j = 0; j < num; j++)
			say("%s %s: %d %d", texts[i], texts[j], compare(&ss[i], &ss[j], 0),
			    compare(&ss[i], &ss[j], 1));
		say("%s unix: %d %d", texts[i], compare(&ss[i], &unix_ss, 1),
		    compare(&unix_ss, &ss[i], 1));
	}
	say("unix unix: %d %d", compare(&unix_ss, &other_ss, 1), compare(&unix_ss, &unix_ss, 0));
}

int main(void)
{
	parsing();
	formatting();
	ports();
	comparing();
	return 0;
}
