/*
 * Runs commands of the shell, all at once, and prints what each wrote and how it ended, in the order of the command
 * line.
 *
 * usage: children COMMAND...
 */
#include "async.h"

struct child {
	const char *command;
	str output;
	int status;
	u_int left; /* events to come: the end of the output, and that of the process */

	explicit child(const char *c) : command(c), status(-1), left(2) {}
	void start();
	void wrote(str s);
	void ended(int st);
	void print();
};

static vec<child *> children;
static size_t running;

static void done()
{
	if (--running)
		return;
	for (child *c : children)
		c->print();
	exit(0);
}

void child::start()
{
	const char *av[] = { "sh", "-c", command, NULL };
	int fds[2];
	pid_t pid;

	if (pipe(fds) < 0)
		fatal("pipe: %m\n");
	close_on_exec(fds[0]);
	close_on_exec(fds[1]);
	pid = spawn("/bin/sh", av, -1, fds[1]);
	if (pid < 0)
		fatal("/bin/sh: %m\n");
	close(fds[1]);
	pipe2str(fds[0], wrap(this, &child::wrote));
	chldcb(pid, wrap(this, &child::ended));
}

void child::wrote(str s)
{
	output = s;
	if (!--left)
		done();
}

void child::ended(int st)
{
	status = st;
	if (!--left)
		done();
}

void child::print()
{
	printf("%s: %zu bytes", command, output.len());
	if (WIFEXITED(status))
		printf(", exit status %d\n", WEXITSTATUS(status));
	else
		printf(", signal %d\n", WTERMSIG(status));
	fwrite(output.cstr(), 1, output.len(), stdout);
}

int main(int argc, char **argv)
{
	setprogname(argv[0]);
	if (argc < 2)
		fatal << "usage: " << progname << " COMMAND...\n";
	for (int i = 1; i < argc; i++)
		children.push_back(New child(argv[i]));
	running = children.size();
	for (child *c : children)
		c->start();
	amain();
}
