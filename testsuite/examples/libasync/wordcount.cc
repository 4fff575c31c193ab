/*
 * Counts lines, words and bytes of files, all at once, without a blocking loop.
 *
 * usage: wordcount FILE...
 */
#include "aiod.h"
#include "async.h"
#include "err.h"
#include "vec.h"

static ptr<aiod> disk;

class counter
{
	const str path;
	ptr<aiofh> fh;
	ptr<aiobuf> buf;
	off_t pos;
	bool in_word;

	void read();
	void opened(ptr<aiofh> f, int err);
	void got(ptr<aiobuf> b, ssize_t n, int err);
	void count(const char *p, const char *lim);
	void end(int err);

public:
	size_t lines, words;
	int error;
	static size_t running;

	explicit counter(str p) : path(p), pos(0), in_word(false), lines(0), words(0), error(0) {}
	void start() { disk->open(path, O_RDONLY, 0, wrap(this, &counter::opened)); }
	void print();
};

size_t counter::running;
static vec<counter *> counters;

void counter::opened(ptr<aiofh> f, int err)
{
	fh = f;
	if (err)
		end(err);
	else
		read();
}

/* Files that find no buffer take turns. */
void counter::read()
{
	buf = disk->bufalloc(4096);
	if (buf)
		fh->read(pos, buf, wrap(this, &counter::got));
	else
		disk->bufwait(wrap(this, &counter::read));
}

void counter::got(ptr<aiobuf> b, ssize_t n, int err)
{
	if (n <= 0) {
		buf = NULL;
		fh = NULL;
		end(err);
		return;
	}
	count(b->base(), b->base() + n);
	pos += n;
	buf = NULL;
	b = NULL;
	read();
}

void counter::count(const char *p, const char *lim)
{
	for (; p < lim; p++) {
		lines += *p == '\n';
		words += !isspace((u_char)*p) && !in_word;
		in_word = !isspace((u_char)*p);
	}
}

void counter::end(int err)
{
	error = err;
	if (--running)
		return;
	for (size_t i = 0; i < counters.size(); i++)
		counters[i]->print();
	exit(0);
}

void counter::print()
{
	if (error)
		printf("%s: %s\n", path.cstr(), strerror(error));
	else
		printf("%s: %zu lines, %zu words, %lld bytes\n", path.cstr(), lines, words, (long long)pos);
}

int main(int argc, char **argv)
{
	setprogname(argv[0]);
	if (argc < 2)
		fatal << "usage: " << progname << " FILE...\n";
	disk = New refcounted<aiod>(2, 0x10000, 0x2000);
	for (int i = 1; i < argc; i++)
		counters.push_back(New counter(argv[i]));
	counter::running = counters.size();
	for (counter *c : counters)
		c->start();
	amain();
}
