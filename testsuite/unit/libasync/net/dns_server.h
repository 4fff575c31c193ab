/*
 * A name server on a port of the loopback, in the loop of the test.
 */
#ifndef TEST_DNS_SERVER_H
#define TEST_DNS_SERVER_H

#include <map>
#include <string>
#include <vector>

#include "amisc.h"
#include "async.h"

class dns_server
{
	int udp, tcp, conn;
	struct held {
		sockaddr_in from;
		std::string packet;
	};
	std::vector<held> kept;

	static void put(std::string *s, unsigned n)
	{
		*s += static_cast<char>(n >> 8 & 0xff);
		*s += static_cast<char>(n & 0xff);
	}

	static std::string question_of(const std::string &q, unsigned *type)
	{
		size_t at = 12;
		std::string name;

		while (q[at] != '\0') {
			name += (name.empty() ? "" : ".") + q.substr(at + 1, static_cast<size_t>(q[at]));
			at += static_cast<size_t>(q[at]) + 1;
		}
		*type = static_cast<unsigned>(q[at + 1]) << 8 | static_cast<unsigned char>(q[at + 2]);
		for (char &c : name)
			c = static_cast<char>(tolower(c));
		return name;
	}

	std::string response(const std::string &q, bool is_tcp)
	{
		unsigned type, rcode = 0, num = 0, flags = 0x8180;
		std::string name = question_of(q, &type), out = q.substr(0, 2), records;
		bool is_known = false, is_short = truncated.count(name) != 0 && !is_tcp;

		asked.push_back(name);
		for (const auto &r : zone) {
			if (r.first.first != name)
				continue;
			is_known = true;
			if (r.first.second != type && r.first.second != 5)
				continue;
			for (const std::string &data : r.second) {
				records += std::string("\xc0\x0c", 2);
				put(&records, r.first.second);
				put(&records, 1);
				put(&records, 0);
				put(&records, 60);
				put(&records, static_cast<unsigned>(data.size()));
				records += data;
				num++;
			}
		}
		/* After an alias, the address of its target. */
		if (extra.count(name) != 0 && type == 1) {
			records += extra[name];
			num++;
		}
		if (!is_known)
			rcode = 3;
		if (failing.count(name) != 0)
			rcode = 2;
		if (is_short) {
			flags |= 0x200;
			records.clear();
			num = 0;
		}
		put(&out, flags | rcode);
		put(&out, 1);
		put(&out, rcode == 0 ? num : 0);
		put(&out, 0);
		put(&out, 0);
		out += q.substr(12, q.find('\0', 12) + 5 - 12);
		return rcode == 0 ? out + records : out;
	}

	void on_udp()
	{
		char buf[2000];
		sockaddr_in from = {};
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(udp, buf, sizeof(buf), 0, reinterpret_cast<sockaddr *>(&from), &len);
		std::string q(buf, n > 0 ? static_cast<size_t>(n) : 0), r;
		unsigned type;

		if (n <= 0)
			return;
		r = response(q, false);
		if (slow.count(question_of(q, &type)) != 0) {
			kept.push_back({ from, r });
			return;
		}
		rc_ignore(sendto(udp, r.data(), r.size(), 0, reinterpret_cast<sockaddr *>(&from), sizeof(from)));
	}

	void on_connect()
	{
		conn = accept(tcp, nullptr, nullptr);
		make_async(conn);
		fdcb(conn, selread, wrap(this, &dns_server::on_tcp));
	}

	void on_tcp()
	{
		char buf[2000];
		ssize_t n = read(conn, buf, sizeof(buf));
		std::string r, framed;

		if (n > 2) {
			r = response(std::string(buf + 2, static_cast<size_t>(n) - 2), true);
			put(&framed, static_cast<unsigned>(r.size()));
			framed += r;
			if (stream_len == WRONG)
				framed[2] = static_cast<char>(framed[2] + 1);
			if (stream_len > 0)
				framed.resize(static_cast<size_t>(stream_len));
			/* Byte by byte would be slow: in two pieces. */
			v_write(conn, framed.data(), 1);
			v_write(conn, framed.data() + 1, framed.size() - 1);
			tcp_answers++;
		}
		fdcb(conn, selread, NULL);
		close(conn);
	}

public:
	std::map<std::pair<std::string, unsigned>, std::vector<std::string>> zone;
	std::map<std::string, std::string> extra;
	std::map<std::string, bool> truncated, failing, slow;
	std::vector<std::string> asked;
	int tcp_answers = 0;
	/* Of an answer by TCP: how many bytes are sent, or that it is for another question. */
	enum { WHOLE = 0, WRONG = -1 };
	int stream_len = WHOLE;
	std::string address;

	/* The port of `udp` may be in use by TCP: then take another one. */
	bool open_both(sockaddr_in *sin)
	{
		socklen_t len = sizeof(*sin);

		udp = inetsocket(SOCK_DGRAM, 0, INADDR_LOOPBACK);
		if (udp < 0 || getsockname(udp, reinterpret_cast<sockaddr *>(sin), &len) < 0)
			abort();
		tcp = inetsocket(SOCK_STREAM, ntohs(sin->sin_port), INADDR_LOOPBACK);
		if (tcp >= 0 && listen(tcp, 5) == 0)
			return true;
		close(udp);
		if (tcp >= 0)
			close(tcp);
		return false;
	}

	dns_server() : conn(-1)
	{
		sockaddr_in sin = {};
		int tries = 0;

		while (!open_both(&sin)) {
			if (++tries == 1000)
				abort();
		}
		fdcb(udp, selread, wrap(this, &dns_server::on_udp));
		fdcb(tcp, selread, wrap(this, &dns_server::on_connect));
		address = "127.0.0.1:" + std::to_string(ntohs(sin.sin_port));
	}

	~dns_server()
	{
		fdcb(udp, selread, NULL);
		fdcb(tcp, selread, NULL);
		close(udp);
		close(tcp);
	}

	void release()
	{
		for (held &h : kept)
			rc_ignore(sendto(udp, h.packet.data(), h.packet.size(), 0,
					 reinterpret_cast<sockaddr *>(&h.from), sizeof(h.from)));
		kept.clear();
	}

	size_t held_num() const { return kept.size(); }

	static std::string name(const std::string &n)
	{
		std::string out, rest = n;
		size_t dot;

		while (!rest.empty()) {
			dot = rest.find('.');
			out += static_cast<char>(std::min(dot, rest.size()));
			out += rest.substr(0, dot);
			rest = dot == std::string::npos ? "" : rest.substr(dot + 1);
		}
		return out + std::string(1, '\0');
	}

	static std::string words(std::initializer_list<unsigned> all)
	{
		std::string out;

		for (unsigned n : all)
			put(&out, n);
		return out;
	}
};

#endif
