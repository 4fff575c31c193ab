/*
 * conftab: configuration files.
 */
#include "parseopt.h"

#include <errno.h>

#include "err.h"
#include "text/lines.h"

/* ---------------------------------------------------------------- entries */

void conftab_el::reset()
{
	was_set = false;
	set_default();
}

bool conftab_el::wrong(const str &loc, const str &why, bool *e) const
{
	warn << loc << ": " << name << ": " << why << "\n";
	*e = true;
	return false;
}

str conftab_el::not_in(const str &word, const char *what, const str &low, const str &high)
{
	return strbuf() << "'" << word << "' is not " << what << " in " << low << ".." << high;
}

void conftab_el::dump_value(strbuf &b, const str &value) const
{
	b << name << " = " << (value ? value : str("(not set)"));
}

conftab_str::conftab_str(const str &n, str *d, bool c)
    : conftab_el(n), dest(d), is_once(c), has_default(false), errp(nullptr)
{
}

conftab_str::conftab_str(const str &n, str *d, const str &def, bool c)
    : conftab_el(n), dest(d), is_once(c), has_default(true), default_value(def), errp(nullptr)
{
	*dest = def;
}

conftab_str::conftab_str(const str &n, confcb c)
    : conftab_el(n), dest(nullptr), line_cb(c), is_once(false), has_default(false), errp(nullptr)
{
}

conftab_str::conftab_str(callback<void, str>::ref c, const str &n)
    : conftab_el(n), dest(nullptr), word_cb(c), is_once(false), has_default(false), errp(nullptr)
{
}

bool conftab_str::convert(const vec<str> &v, const str &l, bool *e)
{
	if (line_cb) {
		words = v;
		location = l;
		errp = e;
		return true;
	}
	if (!count_args(v, 2))
		return wrong(l, "takes one word", e);
	if (is_once && was_set)
		return wrong(l, "stands there twice", e);
	value = v[1];
	return true;
}

void conftab_str::set()
{
	if (line_cb)
		(*line_cb)(words, location, errp);
	else if (word_cb)
		(*word_cb)(value);
	else
		*dest = value;
}

void conftab_str::set_default()
{
	if (has_default)
		*dest = default_value;
}

void conftab_str::dump(strbuf &b) const
{
	dump_value(b, dest != nullptr ? *dest : str("(callback)"));
}

conftab_double::conftab_double(const str &n, double *d, double l, double u)
    : conftab_el(n), dest(d), lower(l), upper(u), has_default(false), default_value(0), value(0)
{
}

conftab_double::conftab_double(const str &n, double *d, double l, double u, double def)
    : conftab_el(n), dest(d), lower(l), upper(u), has_default(true), default_value(def), value(0)
{
	*dest = def;
}

bool conftab_double::convert(const vec<str> &v, const str &cf, bool *e)
{
	double d;

	if (!count_args(v, 2))
		return wrong(cf, "takes one number", e);
	if (!v[1].to_double(&d) || !(d >= lower && d <= upper))
		return wrong(cf, not_in(v[1], "a number", strbuf() << lower, strbuf() << upper), e);
	value = d;
	return true;
}

void conftab_double::set_default()
{
	if (has_default)
		*dest = default_value;
}

void conftab_double::dump(strbuf &b) const
{
	dump_value(b, strbuf() << *dest);
}

conftab_bool::conftab_bool(const str &n, bool *b)
    : conftab_el(n), dest(b), has_default(false), default_value(false), value(false)
{
}

conftab_bool::conftab_bool(const str &n, bool *b, bool def)
    : conftab_el(n), dest(b), has_default(true), default_value(def), value(false)
{
	*dest = def;
}

bool conftab_bool::convert(const vec<str> &v, const str &cf, bool *e)
{
	static const char *const names[][2] = {
		{ "0", "1" },
		{ "false", "true" },
		{ "no", "yes" },
		{ "off", "on" },
	};
	str word = v.size() == 1 ? str("1") : count_args(v, 2) ? mytolower(v[1]) : str();

	for (auto &pair : names) {
		if (word == pair[0] || word == pair[1]) {
			value = word == pair[1];
			return true;
		}
	}
	return wrong(cf, "takes one of 0 1 false true no yes off on", e);
}

void conftab_bool::set_default()
{
	if (has_default)
		*dest = default_value;
}

void conftab_bool::dump(strbuf &b) const
{
	dump_value(b, *dest ? "true" : "false");
}

bool conftab_ignore::convert(const vec<str> &, const str &, bool *)
{
	return true;
}

void conftab_ignore::dump(strbuf &b) const
{
	dump_value(b, "(ignored)");
}

/* ---------------------------------------------------------------- the table */

conftab::~conftab()
{
	tab.deleteall();
}

conftab &conftab::insert(conftab_el *e)
{
	tab.insert(e);
	order.push_back(e);
	return *this;
}

bool conftab::match(const vec<str> &s, const str &cf, int ln, bool *err)
{
	conftab_el *e = s.size() > 0 ? tab[mytolower(s[0])] : nullptr;
	bool is_wrong = false;

	if (e == nullptr)
		return false;
	if (e->convert(s, strbuf() << cf << ":" << ln, &is_wrong)) {
		e->set();
		e->was_set = true;
	}
	if (is_wrong)
		*err = true;
	return true;
}

static strbuf at(const str &file, int line)
{
	return strbuf() << file << ":" << line << ": ";
}

bool conftab::run(const str &file, u_int opts, int fd, status_t *sp)
{
	str text = libasync::read_config(file, fd);
	bool err = !text;
	vec<str> words;

	if (opts & CONFTAB_APPLY_DEFAULTS)
		reset();
	if (!text)
		warn << file << ": " << strerror(errno) << "\n";
	libasync::line_reader reader(text);
	for (;;) {
		if (reader.next(&words)) {
			if (!match(words, file, reader.lineno, &err)) {
				warn << at(file, reader.lineno) << "unknown name '" << words[0] << "'\n";
				err = true;
			}
		} else if (reader.fault != nullptr) {
			warn << at(file, reader.lineno) << reader.fault << "\n";
			err = true;
			reader.recover();
		} else {
			break;
		}
	}
	if (opts & CONFTAB_VERBOSE)
		report();
	if (sp != nullptr)
		*sp = err ? ERROR : OK;
	return !err;
}

void conftab::report(vec<str> *out)
{
	for (size_t i = 0; i < order.size(); i++) {
		strbuf b;

		order[ptrdiff_t(i)]->dump(b);
		out->push_back(b);
	}
}

void conftab::report()
{
	vec<str> lines;

	report(&lines);
	for (size_t i = 0; i < lines.size(); i++)
		warn << lines[ptrdiff_t(i)] << "\n";
}

void conftab::reset()
{
	for (size_t i = 0; i < order.size(); i++)
		order[ptrdiff_t(i)]->reset();
}
