/*
 * DNS packets: questions of any type, and the records of their answers (RFC 1035, 2782).
 */
#ifndef NET_PACKET_H
#define NET_PACKET_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace libasync
{

enum dns_type { DNS_A = 1, DNS_CNAME = 5, DNS_MX = 15, DNS_TXT = 16, DNS_SRV = 33 };

struct dns_record {
	std::string name;
	unsigned type;
	uint16_t numbers[3]; /* MX: preference. SRV: priority, weight, port */
	std::string data;    /* MX, SRV: a name. TXT: its strings, joined. A: 4 bytes */
};

struct dns_answer {
	unsigned rcode;
	bool is_truncated;
	std::vector<dns_record> answers;    /* of the type asked for */
	std::vector<dns_record> addresses; /* A records that came along */
};

/* Has DNS a form for it: labels of 1 to 63 bytes, 253 in all, perhaps a dot behind, no zero byte? */
bool dns_is_name(const std::string &name);

/* The packet that asks; empty: `name` is no name of a host. */
std::string dns_question(uint16_t id, const std::string &name, unsigned type);

/* Is `packet` the response to `question`? false also if it is malformed; *ret is then unspecified. */
bool dns_parse(const std::string &question, const std::string &packet, dns_answer *ret);

} // namespace libasync

#endif
