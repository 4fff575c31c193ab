/*
 * CPU-bound work on all cores: counts primes. Each piece of work is a post with a color of its own; the results go to
 * color 0, where the sum needs no lock.
 *
 *   pool [LIMIT]		counts the primes below LIMIT (default 2000000)
 */
#include <stdio.h>
#include <stdlib.h>

#include <event2/event.h>
#include <event2/smp.h>

#define PIECE 20000u	/* numbers in a piece: some milliseconds of work */

struct piece {
	unsigned from, to;
	unsigned primes_num;
};

static struct event_base *base;

/* Color 0. */
static unsigned primes_num, pieces_num;

static int is_prime(unsigned n)
{
	if (n < 2 || (n % 2 == 0 && n != 2))
		return 0;
	for (unsigned d = 3; d * d <= n; d += 2)
		if (n % d == 0)
			return 0;
	return 1;
}

/* Color 0: the pieces arrive one at a time. */
static void piece_done(void *arg)
{
	struct piece *piece = arg;

	primes_num += piece->primes_num;
	pieces_num++;
	free(piece);
}

/* A color for each piece: any worker, in parallel with the other pieces. */
static void piece_work(void *arg)
{
	struct piece *piece = arg;

	for (unsigned n = piece->from; n < piece->to; n++)
		piece->primes_num += (unsigned)is_prime(n);
	if (event_base_post(base, 0, piece_done, piece) < 0)
		abort();	/* no memory */
}

int main(int argc, char **argv)
{
	unsigned limit = argc > 1 ? (unsigned)atoi(argv[1]) : 2000000;
	ev_uint32_t color = 1;

	base = event_base_new();
	if (base == NULL)
		return 1;
	for (unsigned from = 0; from < limit; from += PIECE) {
		struct piece *piece = calloc(1, sizeof(*piece));

		if (piece == NULL)
			return 1;
		piece->from = from;
		piece->to = limit - from < PIECE ? limit : from + PIECE;
		if (event_base_post(base, color++, piece_work, piece) < 0)
			return 1;
	}
	event_base_dispatch(base);	/* ends when no post is left */
	printf("%u primes below %u, in %u pieces, on %u workers\n", primes_num, limit, pieces_num,
	       event_base_get_workers(base));
	event_base_free(base);
	return 0;
}
