/*
 * A request takes four steps: its frame is opened, the files answer, the answer's frame is made, and written. The first
 * and the third need most of the time.
 *
 * Callbacks hold the connection. end() removes those of the loop, and the last answer that comes then frees it.
 */
#include "peer.h"

#include <errno.h>

str peer::key;

peer::peer(int f)
    : fd(f), files(New session), from_client(NULL), to_client(NULL), requests_num(0), late(NULL), is_taking(false),
      is_eof(false), is_ended(false), is_read_watched(false), is_write_watched(false)
{
}

peer::~peer()
{
	delete from_client;
	delete to_client;
	close(fd);
}

void peer::start()
{
	late = delaycb(LATE_SECS, wrap(mkref(this), &peer::late_cb));
	settle();
}

/* ---------------------------------------------------------------- the end */

/* `why` NULL: the client has gone. Otherwise it is why it has to go. */
void peer::end(const char *why)
{
	if (is_ended)
		return;
	is_ended = true;
	fdcb(fd, selread, NULL);
	fdcb(fd, selwrite, NULL);
	timecb_remove(late);
	late = NULL;
	files->end_cb();
	peer_ended(why);
}

void peer::late_cb()
{
	late = NULL;
	end("no greeting");
}

/* Wait for what is missing: the last thing that a callback does. */
void peer::settle()
{
	if (is_ended)
		return;
	if (is_eof && requests_num == 0 && out.resid() == 0) {
		end(NULL);
		return;
	}

	const bool reads = !is_eof && (!from_client || can_take());
	const bool writes = out.resid() > 0;

	if (reads && !is_read_watched)
		fdcb(fd, selread, wrap(mkref(this), &peer::read_cb));
	if (!reads && is_read_watched)
		fdcb(fd, selread, NULL);
	is_read_watched = reads;
	if (writes && !is_write_watched)
		fdcb(fd, selwrite, wrap(mkref(this), &peer::write_cb));
	if (!writes && is_write_watched)
		fdcb(fd, selwrite, NULL);
	is_write_watched = writes;
}

/* ---------------------------------------------------------------- requests */

/* The keys are known when both sides have greeted. False: the client's greeting is not there. */
bool peer::greet()
{
	char text[GREETING_LEN];

	if (in.copyout(text, GREETING_LEN) < GREETING_LEN)
		return false;
	in.rembytes(GREETING_LEN);

	const str theirs(text, GREETING_LEN), ours = make_greeting();

	if (!is_greeting(theirs)) {
		end("no greeting");
		return false;
	}
	from_client = New seal(key, "from client", theirs, ours);
	to_client = New seal(key, "to client", theirs, ours);
	out.copy(ours.cstr(), ours.len());
	timecb_remove(late);
	late = NULL;
	return true;
}

bool peer::can_take() const
{
	return requests_num < REQUESTS_MAX && out.resid() < OUT_MAX;
}

void peer::take_requests()
{
	str request;

	if (!from_client && !greet())
		return;
	if (is_taking)
		return;
	is_taking = true;
	while (!is_ended && can_take()) {
		const seal::result r = from_client->open(&in, &request);

		if (r == seal::REFUSED)
			end("refused frame");
		if (r != seal::OPENED)
			break;
		requests_num++;
		files->request_cb(request, wrap(mkref(this), &peer::answer_cb));
	}
	is_taking = false;
}

void peer::read_cb()
{
	const int n = in.input(fd);

	if (n < 0 && errno != EAGAIN) {
		end(NULL);
		return;
	}
	if (n == 0)
		is_eof = true;
	take_requests();
	if (!is_ended && out.resid() && out.output(fd) < 0)
		end(NULL);
	settle();
}

/* ---------------------------------------------------------------- answers */

void peer::answer_cb(str answer)
{
	str frame;

	requests_num--;
	if (is_ended)
		return;
	frame = to_client->close(answer);
	out.print(frame.cstr(), frame.len());
	if (out.output(fd) < 0) {
		end(NULL);
		return;
	}
	if (out.resid())
		out.hold_onto(frame);
	take_requests();
	settle();
}

void peer::write_cb()
{
	if (out.output(fd) < 0) {
		end(NULL);
		return;
	}
	take_requests();
	settle();
}
