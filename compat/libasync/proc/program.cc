/*
 * Where programs are, and whether a file is what it was.
 */
#include "amisc.h"

#include <string>

namespace
{

bool is_program(const std::string &path)
{
	struct stat sb;

	return stat(path.c_str(), &sb) == 0 && S_ISREG(sb.st_mode) && access(path.c_str(), X_OK) == 0;
}

/* The folder of the program that runs, without a slash at its end. */
std::string own_folder()
{
	char buf[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", buf, sizeof(buf));
	std::string path;

	if (len <= 0)
		return ".";
	path.assign(buf, static_cast<size_t>(len));
	return path.substr(0, path.rfind('/'));
}

/* In the folders of `list`, which colons separate; an empty one is the current folder. "": in none. */
std::string search(const char *list, const std::string &program)
{
	std::string rest = list;

	for (;;) {
		size_t end = rest.find(':');
		std::string folder = rest.substr(0, end);
		std::string path = (folder.empty() ? "." : folder) + "/" + program;

		if (is_program(path))
			return path;
		if (end == std::string::npos)
			return "";
		rest.erase(0, end + 1);
	}
}

str found(const std::string &path)
{
	return path.empty() ? str(NULL) : str(path.data(), path.size());
}

std::string find(const char *program)
{
	const char *list = getenv("PATH");
	std::string beside;

	if (strchr(program, '/') != nullptr)
		return is_program(program) ? program : "";
	beside = own_folder() + "/" + program;
	if (is_program(beside))
		return beside;
	return search(list != nullptr ? list : "/usr/bin:/bin", program);
}

bool is_same_time(const timespec &a, const timespec &b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

} // namespace

str find_program(const char *program)
{
	return found(find(program));
}

str find_program_plus_libsfs(const char *program)
{
	std::string path = find(program);
	const char *list = safegetenv("SFS_LIBDIR");

	if (path.empty() && list != nullptr && strchr(program, '/') == nullptr)
		path = search(list, program);
	return found(path);
}

str fix_exec_path(str path, str dir)
{
	std::string name(path.cstr(), path.len()), at;

	if (name.find('/') != std::string::npos)
		return path;
	if (dir != NULL) {
		at.assign(dir.cstr(), dir.len());
	} else {
		std::string program = find(name.c_str());

		if (!program.empty())
			return found(program);
		at = own_folder();
	}
	return found(at + "/" + name);
}

bool stat_unchanged(const struct stat *sb1, const struct stat *sb2)
{
	return sb1->st_dev == sb2->st_dev && sb1->st_ino == sb2->st_ino && sb1->st_mode == sb2->st_mode &&
	       sb1->st_size == sb2->st_size && is_same_time(sb1->st_mtim, sb2->st_mtim) &&
	       is_same_time(sb1->st_ctim, sb2->st_ctim);
}
