/*
 * net/packet.cc: what is a response, and that malformed ones do no harm.
 */
#include "net/packet.h"

#include <cstring>

#include "test.h"

using namespace libasync;

namespace
{

std::string header(const std::string &question, unsigned flags, unsigned answers)
{
	std::string h = question.substr(0, 2);

	for (unsigned n : { flags, 1U, answers, 0U, 0U }) {
		h += static_cast<char>(n >> 8);
		h += static_cast<char>(n & 0xff);
	}
	return h + question.substr(12);
}

/* A record whose name is a pointer to the question's. */
std::string record(unsigned type, const std::string &data)
{
	std::string r("\xc0\x0c", 2);

	for (unsigned n : { type, 1U, 0U, 60U, static_cast<unsigned>(data.size()) }) {
		r += static_cast<char>(n >> 8);
		r += static_cast<char>(n & 0xff);
	}
	return r + data;
}

void names_that_are_none_have_no_question(void **)
{
	for (const char *name : { "", ".", "a..b", ".a" })
		assert_string_equal(dns_question(1, name, DNS_MX).c_str(), "");
	assert_int_equal(dns_question(1, std::string(64, 'a') + ".x", DNS_MX).size(), 0);
	assert_int_equal(dns_question(1, std::string(300, 'a'), DNS_MX).size(), 0);
	assert_int_equal(dns_question(1, "a.b.", DNS_MX).size(), dns_question(1, "a.b", DNS_MX).size());
}

void a_response_has_the_id_and_the_question(void **)
{
	std::string q = dns_question(0x1234, "Mail.example", DNS_MX);
	std::string mx("\x00\x05\x04mail\xc0\x11", 9);
	std::string good = header(q, 0x8180, 1) + record(DNS_MX, mx), bad;
	dns_answer a;

	assert_true(dns_parse(q, good, &a));
	assert_int_equal(a.answers.size(), 1);
	assert_int_equal(a.answers[0].numbers[0], 5);
	assert_string_equal(a.answers[0].data.c_str(), "mail.example");
	assert_string_equal(a.answers[0].name.c_str(), "Mail.example");
	bad = good;
	bad[1] ^= 1;
	assert_false(dns_parse(q, bad, &a));
	bad = good;
	bad[2] &= 0x7f;
	assert_false(dns_parse(q, bad, &a));
	assert_false(dns_parse(dns_question(0x1234, "mail.other", DNS_MX), good, &a));
	assert_false(dns_parse(dns_question(0x1234, "mail.example", DNS_SRV), good, &a));
	assert_true(dns_parse(dns_question(0x1234, "mail.EXAMPLE", DNS_MX), good, &a));
}

void each_shorter_packet_is_malformed(void **)
{
	std::string q = dns_question(7, "x.y", DNS_SRV);
	std::string srv("\x00\x01\x00\x02\x00\x50\x03www\xc0\x0c", 12);
	std::string txt("\x02hi\x03you", 7);
	std::string good = header(q, 0x8180, 2) + record(DNS_SRV, srv) + record(DNS_TXT, txt);
	dns_answer a;

	assert_true(dns_parse(q, good, &a));
	assert_int_equal(a.answers.size(), 1);
	assert_int_equal(a.answers[0].numbers[2], 80);
	assert_string_equal(a.answers[0].data.c_str(), "www.x.y");
	for (size_t len = 0; len < good.size(); len++)
		assert_false(dns_parse(q, good.substr(0, len), &a));
}

void circles_of_pointers_end(void **)
{
	std::string q = dns_question(7, "x.y", DNS_MX);
	/* The name in the data points to itself: it lies after the header of the record. */
	size_t at = header(q, 0x8180, 1).size() + 12 + 2;
	std::string mx("\x00\x05", 2);
	dns_answer a;

	mx += static_cast<char>(0xc0 | at >> 8);
	mx += static_cast<char>(at & 0xff);
	assert_false(dns_parse(q, header(q, 0x8180, 1) + record(DNS_MX, mx), &a));
}

} // namespace

int main()
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_are_none_have_no_question),
		cmocka_unit_test(a_response_has_the_id_and_the_question),
		cmocka_unit_test(each_shorter_packet_is_malformed),
		cmocka_unit_test(circles_of_pointers_end),
	};

	return cmocka_run_group_tests(tests, nullptr, nullptr);
}
