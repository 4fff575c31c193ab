/*
 * DNS packets.
 *
 * The reader has a position and never goes beyond the end: a read that would sets `is_bad` and yields zeros. So a
 * parser reads on and asks once, at the end of each record.
 */
#include "net/packet.h"

#include <strings.h>

namespace libasync
{

namespace
{

enum { HEADER = 12, LABEL_MAX = 63, NAME_MAX_LEN = 255, JUMPS_MAX = 64, CLASS_IN = 1 };

class reader
{
	const std::string &packet;

public:
	size_t pos = 0;
	bool is_bad = false;

	explicit reader(const std::string &p) : packet(p) {}

	unsigned byte()
	{
		if (pos >= packet.size()) {
			is_bad = true;
			return 0;
		}
		return static_cast<unsigned char>(packet[pos++]);
	}

	unsigned word()
	{
		unsigned high = byte();

		return high << 8 | byte();
	}

	std::string bytes(size_t len)
	{
		if (len > packet.size() - pos) {
			is_bad = true;
			return "";
		}
		pos += len;
		return packet.substr(pos - len, len);
	}

	std::string name();
};

/* A name, whose end may be elsewhere in the packet (compression). Jumps are counted, for they may form a circle. */
std::string reader::name()
{
	std::string ret;
	size_t after = 0;
	unsigned jumps = 0;

	for (;;) {
		unsigned len = byte();

		if (is_bad || len == 0)
			break;
		if ((len & 0xc0) == 0xc0) {
			size_t target = (len & 0x3f) << 8;

			target |= byte();
			if (after == 0)
				after = pos;
			if (++jumps > JUMPS_MAX)
				is_bad = true;
			pos = target;
			continue;
		}
		if (len > LABEL_MAX || ret.size() + len + 1 > NAME_MAX_LEN) {
			is_bad = true;
			break;
		}
		if (!ret.empty())
			ret += '.';
		ret += bytes(len);
	}
	if (after != 0)
		pos = after;
	return ret;
}

void put_word(std::string *out, unsigned n)
{
	*out += static_cast<char>(n >> 8 & 0xff);
	*out += static_cast<char>(n & 0xff);
}

bool put_name(std::string *out, std::string name)
{
	size_t at = 0;

	if (!name.empty() && name.back() == '.')
		name.pop_back();
	if (name.empty() || name.size() > NAME_MAX_LEN - 2 || name.find('\0') != std::string::npos)
		return false;
	while (at <= name.size()) {
		size_t end = name.find('.', at);
		size_t len = (end == std::string::npos ? name.size() : end) - at;

		if (len == 0 || len > LABEL_MAX)
			return false;
		*out += static_cast<char>(len);
		*out += name.substr(at, len);
		at += len + 1;
	}
	*out += '\0';
	return true;
}

std::string texts(reader *r, size_t end)
{
	std::string all;

	while (!r->is_bad && r->pos < end)
		all += r->bytes(r->byte());
	return all;
}

void read_data(reader *r, size_t end, dns_record *rec)
{
	switch (rec->type) {
	case DNS_A:
		rec->data = r->bytes(4);
		break;
	case DNS_MX:
		rec->numbers[0] = static_cast<uint16_t>(r->word());
		rec->data = r->name();
		break;
	case DNS_SRV:
		for (uint16_t &n : rec->numbers)
			n = static_cast<uint16_t>(r->word());
		rec->data = r->name();
		break;
	case DNS_TXT:
		rec->data = texts(r, end);
		break;
	default:
		r->pos = end;
		break;
	}
	if (r->pos != end)
		r->is_bad = true;
}

bool read_record(reader *r, dns_record *rec)
{
	size_t len;

	rec->name = r->name();
	rec->type = r->word();
	if (r->word() != CLASS_IN)
		rec->type = 0;
	(void)r->word(); /* the time to live, two words */
	(void)r->word();
	len = r->word();
	read_data(r, r->pos + len, rec);
	return !r->is_bad;
}

bool read_sections(reader *r, const unsigned *counts, unsigned type, dns_answer *ret)
{
	for (int section = 0; section < 3; section++) {
		for (unsigned i = 0; i < counts[section]; i++) {
			dns_record rec = {};

			if (!read_record(r, &rec))
				return false;
			if (section == 0 && rec.type == type)
				ret->answers.push_back(rec);
			else if (section == 2 && rec.type == DNS_A)
				ret->addresses.push_back(rec);
		}
	}
	return true;
}

} // namespace

bool dns_is_name(const std::string &name)
{
	std::string ignored;

	return put_name(&ignored, name);
}

std::string dns_question(uint16_t id, const std::string &name, unsigned type)
{
	std::string out;

	put_word(&out, id);
	put_word(&out, 0x0100); /* recursion desired */
	put_word(&out, 1);
	put_word(&out, 0);
	put_word(&out, 0);
	put_word(&out, 0);
	if (!put_name(&out, name))
		return "";
	put_word(&out, type);
	put_word(&out, CLASS_IN);
	return out;
}

bool dns_parse(const std::string &question, const std::string &packet, dns_answer *ret)
{
	reader asked(question), r(packet);
	unsigned flags, counts[3], type;
	std::string name;

	asked.pos = HEADER;
	name = asked.name();
	type = asked.word();
	if (r.word() != reader(question).word())
		return false;
	flags = r.word();
	if (!(flags & 0x8000) || r.word() != 1)
		return false;
	for (unsigned &n : counts)
		n = r.word();
	if (strcasecmp(r.name().c_str(), name.c_str()) != 0 || r.word() != type || r.word() != CLASS_IN || r.is_bad)
		return false;
	*ret = {};
	ret->rcode = flags & 0xf;
	ret->is_truncated = (flags & 0x0200) != 0;
	return ret->is_truncated || read_sections(&r, counts, type, ret);
}

} // namespace libasync
