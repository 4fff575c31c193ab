/*
 * ident: who owns a connection, by the peer's own account (RFC 1413).
 */
#include "amisc.h"
#include "async.h"

#include <string>

#include "net/ident.h"

namespace
{

enum { IDENT_PORT = 113, SECONDS = 15, LINE_MAX_LEN = 1000 };

/* "6193, 23 : USERID : UNIX : stjohns": what stands after the third colon. Empty: it says an error, or nothing. */
std::string user_of(const std::string &line)
{
	size_t at = line.find(':'), kind, end;
	std::string word;

	if (at == std::string::npos)
		return "";
	kind = line.find_first_not_of(" \t", at + 1);
	if (kind == std::string::npos || line.compare(kind, 6, "USERID") != 0)
		return "";
	at = line.find(':', kind);
	if (at != std::string::npos)
		at = line.find(':', at + 1);
	if (at == std::string::npos)
		return "";
	at = line.find_first_not_of(" \t\r\n", at + 1);
	end = line.find_last_not_of(" \t\r\n");
	return at == std::string::npos ? "" : line.substr(at, end - at + 1);
}

/* All steps are in the color of `cb`. */
class asking
{
	callback<void, str, int>::ref cb;
	std::string host;
	u_int16_t own_port = 0, peer_port = 0;
	int connected_fd = -1;
	suio answer;
	tcpconnect_t *connection = nullptr;
	timecb_t *timer = nullptr;

	void connected(int fd);
	void readable();
	void answered(const str &line);
	void timed_out();
	void finish(const std::string &user, int err);

public:
	explicit asking(callback<void, str, int>::ref c) : cb(c) {}
	void start(int fd, u_int16_t port);
	void begin(in_addr addr, u_int16_t port);
	void fail(int err) { finish("", err); }
};

void asking::start(int fd, u_int16_t port)
{
	struct sockaddr_in own = {}, peer = {};
	socklen_t own_len = sizeof(own), peer_len = sizeof(peer);
	int err = 0;
	char text[INET_ADDRSTRLEN];

	if (getsockname(fd, reinterpret_cast<struct sockaddr *>(&own), &own_len) < 0 ||
	    getpeername(fd, reinterpret_cast<struct sockaddr *>(&peer), &peer_len) < 0)
		err = errno;
	else if (peer.sin_family != AF_INET)
		err = EAFNOSUPPORT;
	if (err != 0) {
		libasync::post(cwrap(this, &asking::fail, err, cb->get_color()));
		return;
	}
	host = inet_ntop(AF_INET, &peer.sin_addr, text, sizeof(text));
	own_port = ntohs(own.sin_port);
	peer_port = ntohs(peer.sin_port);
	libasync::post(cwrap(this, &asking::begin, peer.sin_addr, port, cb->get_color()));
}

void asking::begin(in_addr addr, u_int16_t port)
{
	timer = delaycb(SECONDS, 0, cwrap(this, &asking::timed_out, cb->get_color()));
	connection = tcpconnect(addr, port, cwrap(this, &asking::connected, cb->get_color()));
}

void asking::connected(int fd)
{
	connection = nullptr;
	if (fd < 0) {
		finish("", errno);
		return;
	}
	connected_fd = fd;

	/* A new connection takes a line at once. */
	str question = strbuf() << peer_port << "," << own_port << "\r\n";
	ssize_t n = write(fd, question.cstr(), question.len());

	if (n != ssize_t(question.len()))
		finish("", n < 0 ? errno : EMSGSIZE);
	else
		fdcb(fd, selread, cwrap(this, &asking::readable, cb->get_color()));
}

void asking::readable()
{
	int n = answer.input(connected_fd, LINE_MAX_LEN);
	str line = suio_getline(&answer);

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		finish("", errno);
	else if (line != NULL)
		answered(line);
	else if (n == 0)
		answered(str(answer));
	else if (answer.resid() > LINE_MAX_LEN)
		finish("", EFBIG);
}

void asking::answered(const str &line)
{
	std::string user = user_of(std::string(line.cstr(), line.len()));

	finish(user, user.empty() ? ENOENT : 0);
}

void asking::timed_out()
{
	timer = nullptr;
	finish("", ETIMEDOUT);
}

void asking::finish(const std::string &user, int err)
{
	callback<void, str, int>::ref done = cb;
	std::string who = user.empty() ? host : user + "@" + host;

	if (timer != nullptr)
		timecb_remove(timer);
	if (connection != nullptr)
		tcpconnect_cancel(connection);
	if (connected_fd >= 0) {
		fdcb(connected_fd, selread, NULL);
		close(connected_fd);
	}
	delete this;
	errno = err;
	(*done)(str(who.data(), who.size()), err);
}

} // namespace

void libasync::ident_at(int fd, u_int16_t port, callback<void, str, int>::ref cb)
{
	(New asking(cb))->start(fd, port);
}

void ident(int fd, callback<void, str, int>::ref cb)
{
	libasync::ident_at(fd, IDENT_PORT, cb);
}
