/*
 * Daemons, and where their messages go.
 *
 * The logger is a process of its own with a pipe from this one's error output. By default it is a copy of this process
 * that calls syslog for each line: it needs no other program.
 */
#include "amisc.h"
#include "err.h"

#include <syslog.h>

#include <string>
#include <vector>

#include "log/die.h"
#include "proc/priority.h"

namespace
{

/* The program to log with; empty: syslog. Never destroyed. before run */
std::vector<std::string> &logger()
{
	static std::vector<std::string> *words = new std::vector<std::string>;

	return *words;
}

std::string text(const str &s)
{
	return std::string(s.cstr(), s.len());
}

/* More than one thread: fork would take the others away, in the middle of what they do. */
bool has_threads()
{
	char line[256];
	int num = 1;
	FILE *f = fopen("/proc/self/status", "re");

	if (f == nullptr && errno != ENOENT)
		libasync::die("daemonize: /proc/self/status: %s", strerror(errno));
	if (f == nullptr)
		return libasync::are_counts_shared();	/* without /proc only colors are known to start threads */
	while (fgets(line, sizeof(line), f) != nullptr) {
		if (sscanf(line, "Threads: %d", &num) == 1)
			break;
	}
	fclose(f);
	return num > 1;
}

/* What the program wants, as a number. A wrong name must not keep a daemon from starting. */
int chosen_priority()
{
	int number = syslog_priority == NULL ? -1 : libasync::syslog_number(syslog_priority.cstr());

	if (number < 0 && syslog_priority != NULL)
		warn("syslog_priority: %s is not FACILITY.LEVEL\n", syslog_priority.cstr());
	return number < 0 ? LOG_DAEMON | LOG_NOTICE : number;
}

/* Each line of standard input becomes a message of `name`. */
[[noreturn]] void log_lines(const char *name, int priority)
{
	char line[2048];

	openlog(name, 0, priority & LOG_FACMASK);
	while (fgets(line, sizeof(line), stdin) != nullptr) {
		line[strcspn(line, "\n")] = '\0';
		syslog(LOG_PRI(priority), "%s", line);
	}
	_exit(0);
}

[[noreturn]] void run_logger(int fd, int priority)
{
	std::vector<char *> av;

	setsid();
	if (dup2(fd, STDIN_FILENO) < 0)
		_exit(127);
	/* It must not keep the pipes and sockets of the daemon open. */
	closefrom(3);
	if (logger().empty())
		log_lines(program_invocation_short_name, priority);
	for (std::string &word : logger())
		av.push_back(&word[0]);
	av.push_back(nullptr);
	signal(SIGPIPE, SIG_DFL);
	execvp(av[0], av.data());
	_exit(127);
}

void warn_of(const char *what)
{
	warn("%s: %s\n", what, strerror(errno));
}

/* Nobody must take what is left of an attempt for the id of a process. */
void write_pid(const std::string &name)
{
	const char *dir = safegetenv("PIDDIR");
	std::string path = std::string(dir != nullptr ? dir : "/var/run") + "/" + name + ".pid";
	std::string line = std::to_string(getpid()) + "\n";
	int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	ssize_t n;

	if (fd < 0) {
		warn_of(path.c_str());
		return;
	}
	n = write(fd, line.data(), line.size());
	if (close(fd) < 0 || n != static_cast<ssize_t>(line.size())) {
		warn_of(path.c_str());
		unlink(path.c_str());
	}
}

/* What fails here is only said: the daemon runs without it. */
void take_standard_descriptors()
{
	int null = open("/dev/null", O_RDWR);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		warn_of("/dev/null");
	if (null > STDERR_FILENO)
		close(null);
	if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		warn_of("standard output");
}

} // namespace

/* Static objects of programs may set it. */
__attribute__((init_priority(200))) str syslog_priority("daemon.notice");

bool check_syslog_logger(str s, vec<str> *out)
{
	std::string rest = text(s);
	vec<str> words;

	for (size_t at = 0; (at = rest.find_first_not_of(" \t", at)) != std::string::npos;) {
		size_t end = rest.find_first_of(" \t", at);

		if (end == std::string::npos)
			end = rest.size();
		words.push_back(str(rest.data() + at, end - at));
		at = end;
	}
	if (words.size() == 0 || find_program(words[0].cstr()) == NULL)
		return false;
	if (out != nullptr)
		*out = words;
	return true;
}

bool set_syslog_logger(str s)
{
	vec<str> words;

	if (!check_syslog_logger(s, &words))
		return false;
	set_syslog_logger(words);
	return true;
}

void set_syslog_logger(const vec<str> &v)
{
	logger().clear();
	for (size_t i = 0; i < v.size(); i++)
		logger().push_back(text(v[static_cast<ptrdiff_t>(i)]));
}

void start_logger()
{
	int fds[2];
	int priority = chosen_priority();
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		libasync::die("start_logger: pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0)
		libasync::die("start_logger: fork: %s", strerror(errno));
	if (pid == 0)
		run_logger(fds[0], priority);
	close(fds[0]);
	err_flush();
	if (dup2(fds[1], STDERR_FILENO) < 0)
		libasync::die("start_logger: dup2: %s", strerror(errno));
	close(fds[1]);
}

void daemonize(const str &name)
{
	pid_t pid;

	if (has_threads())
		libasync::die("daemonize: the program has threads already; call it before colors or aiod start them");
	start_logger();
	pid = afork();
	if (pid < 0)
		libasync::die("daemonize: fork: %s", strerror(errno));
	if (pid > 0)
		_exit(0);
	setsid();
	take_standard_descriptors();
	write_pid(name == NULL ? std::string(program_invocation_short_name) : text(name));
}
