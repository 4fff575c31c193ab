/*
 * Regular expressions: PCRE2 with the results of each thread apart.
 *
 * A compiled pattern never changes, and copies of an rxx share it by an atomic count. Results belong to a pair of rxx
 * and thread. The first thread that searches becomes the owner, and its results are in the rxx. Each other thread has a
 * table, in which an rxx has the same place for all threads; the place is given out at the first search by a second
 * thread, and used again when the rxx is gone. So a table never has more entries than there were such rxx at once.
 *
 * `owner` and `place` are set once, by compare and swap, while threads may search; nobody writes them later except
 * who destroys or changes the rxx, when no other thread uses it.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "rxx.h"

#include <pcre2.h>
#include <stdio.h>

#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "text/read_all.h"

namespace libasync
{

struct rxx_pattern {
	unsigned count;
	uint32_t groups; /* with the whole match */
	pcre2_code *code;
};

struct rxx_results {
	str subject;		/* holds `p`, unless that belongs to the caller */
	const char *p = nullptr;
	int matched = 0;	/* groups up to the last that took part, 0: no match */
	int errcode = 0;
	pcre2_match_data *data = nullptr;

	rxx_results() = default;
	rxx_results(const rxx_results &) = delete;
	rxx_results &operator=(const rxx_results &) = delete;
	~rxx_results() { pcre2_match_data_free(data); }
};

struct rxx_place {
	size_t index;
	uint64_t serial; /* never used again, unlike the index */
};

} // namespace libasync

using libasync::rxx_pattern;
using libasync::rxx_place;
using libasync::rxx_results;

namespace
{

struct entry {
	uint64_t serial = 0;
	std::unique_ptr<rxx_results> results;
};

struct table {
	std::vector<entry> entries;
};

/* Freed when the thread ends. Static objects of the main thread may search even later: then a new one is leaked. */
thread_local table *own_table;

struct table_freer {
	bool is_used = false;
	~table_freer()
	{
		delete own_table;
		own_table = nullptr;
	}
};

thread_local table_freer freer;

/* Numbers of threads, never used again. */
uint64_t own_number()
{
	static uint64_t last;
	static thread_local uint64_t number;

	if (number == 0)
		number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	return number;
}

struct places {
	std::mutex lock;
	std::vector<size_t> unused;
	size_t given = 0;
	uint64_t serial = 0;

	rxx_place *get()
	{
		std::lock_guard<std::mutex> guard(lock);
		size_t index = given;

		if (unused.empty()) {
			given++;
		} else {
			index = unused.back();
			unused.pop_back();
		}
		return new rxx_place{ index, ++serial };
	}

	void put(rxx_place *p)
	{
		if (p == nullptr)
			return;
		std::lock_guard<std::mutex> guard(lock);
		unused.push_back(p->index);
		delete p;
	}
};

/* Static rxx outlive all static destructors, so this is never destroyed. */
places &all_places()
{
	static places *const p = new places;

	return *p;
}

void put_pattern(rxx_pattern *p)
{
	if (p != nullptr && __atomic_sub_fetch(&p->count, 1, __ATOMIC_ACQ_REL) == 0) {
		pcre2_code_free(p->code);
		delete p;
	}
}

str pcre_message(int code)
{
	unsigned char text[200];

	if (pcre2_get_error_message(code, text, sizeof(text)) < 0)
		snprintf(reinterpret_cast<char *>(text), sizeof(text), "error %d of PCRE2", code);
	return reinterpret_cast<char *>(text);
}

/*
 * Programs write `split (&v, rxx (","), s)` in functions that are called often, and compiling takes longer than
 * searching. So patterns are kept by their text; a program with more of them than fit starts anew.
 */
struct cache {
	static constexpr size_t MOST = 256;
	std::mutex lock;
	std::unordered_map<std::string, rxx_pattern *> patterns;

	/* With a reference for the caller, or NULL. */
	rxx_pattern *get(const std::string &key)
	{
		std::lock_guard<std::mutex> guard(lock);
		auto found = patterns.find(key);

		if (found == patterns.end())
			return nullptr;
		__atomic_fetch_add(&found->second->count, 1, __ATOMIC_RELAXED);
		return found->second;
	}

	void put(const std::string &key, rxx_pattern *p)
	{
		std::lock_guard<std::mutex> guard(lock);

		if (patterns.size() >= MOST) {
			for (auto &old : patterns)
				put_pattern(old.second);
			patterns.clear();
		}
		if (patterns.emplace(key, p).second)
			__atomic_fetch_add(&p->count, 1, __ATOMIC_RELAXED);
	}
};

cache &all_patterns()
{
	static cache *const c = new cache;

	return *c;
}

/* Options of compilation. False: *opt, into *wrong, is none. */
bool read_options(const char *opt, uint32_t *options, char *wrong)
{
	*options = 0;
	for (; *opt != '\0'; opt++) {
		switch (*opt) {
		case 'i': *options |= PCRE2_CASELESS; break;
		case 'm': *options |= PCRE2_MULTILINE; break;
		case 's': *options |= PCRE2_DOTALL; break;
		case 'x': *options |= PCRE2_EXTENDED; break;
		case 'U': *options |= PCRE2_UNGREEDY; break;
		case '^':
		case 'A': *options |= PCRE2_ANCHORED; break;
		case '$':
		case 'D': *options |= PCRE2_DOLLAR_ENDONLY; break;
		case 'n': *options |= PCRE2_NO_AUTO_CAPTURE; break;
		case '8':
		case 'u': *options |= PCRE2_UTF; break;
		case 'g':
		case 'X': break;
		default: *wrong = *opt; return false;
		}
	}
	return true;
}

uint32_t match_options(int old)
{
	uint32_t options = 0;

	if (old & PCRE_ANCHORED)
		options |= PCRE2_ANCHORED;
	if (old & PCRE_NOTBOL)
		options |= PCRE2_NOTBOL;
	if (old & PCRE_NOTEOL)
		options |= PCRE2_NOTEOL;
	if (old & PCRE_NOTEMPTY)
		options |= PCRE2_NOTEMPTY;
	return options;
}

int old_error(int code)
{
	if (code <= PCRE2_ERROR_UTF8_ERR1 && code >= PCRE2_ERROR_UTF8_ERR21)
		return PCRE_ERROR_BADUTF8;
	switch (code) {
	case PCRE2_ERROR_NOMATCH: return PCRE_ERROR_NOMATCH;
	case PCRE2_ERROR_NULL: return PCRE_ERROR_NULL;
	case PCRE2_ERROR_BADOPTION: return PCRE_ERROR_BADOPTION;
	case PCRE2_ERROR_NOMEMORY:
	case PCRE2_ERROR_HEAPLIMIT: return PCRE_ERROR_NOMEMORY;
	case PCRE2_ERROR_MATCHLIMIT: return PCRE_ERROR_MATCHLIMIT;
	case PCRE2_ERROR_DEPTHLIMIT: return PCRE_ERROR_RECURSIONLIMIT;
	}
	return PCRE_ERROR_INTERNAL;
}

void fail(const str &pat, const str &err)
{
	str message = strbuf() << "rxx /" << pat << "/: " << err;

	libasync::str_misused(message);
}

} // namespace

/* ---------------------------------------------------------------- patterns */

str rxx::init(const char *pat, const char *opt)
{
	return init(pat, pat != nullptr ? strlen(pat) : 0, opt);
}

str rxx::init(const char *pat, size_t n, const char *opt)
{
	uint32_t options;
	char wrong;
	int code;
	size_t where;

	clear();
	if (pat == nullptr)
		return "the pattern is NULL";
	if (!read_options(opt != nullptr ? opt : "", &options, &wrong))
		return strbuf() << "no option '" << wrong << "'";
	std::string key(std::to_string(options) + " " + std::string(pat, n));
	pattern = all_patterns().get(key);
	if (pattern != nullptr)
		return str();
	pcre2_code *compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pat), n, options, &code, &where, nullptr);
	if (compiled == nullptr)
		return strbuf() << pcre_message(code) << " at byte " << where;
	pattern = new rxx_pattern{ 1, 1, compiled };
	pcre2_pattern_info(compiled, PCRE2_INFO_CAPTURECOUNT, &pattern->groups);
	pattern->groups++;
	all_patterns().put(key, pattern);
	return str();
}

rxx::rxx(const char *pat, const char *opt) : rxx()
{
	if (str err = init(pat, opt))
		fail(pat, err);
}

rxx::rxx(const str &pat, const char *opt) : rxx()
{
	if (str err = init(pat.cstr(), pat.len(), opt))
		fail(pat, err);
}

void rxx::clear()
{
	put_pattern(pattern);
	pattern = nullptr;
	if (place != nullptr && own_table != nullptr && place->index < own_table->entries.size() &&
	    own_table->entries[place->index].serial == place->serial)
		own_table->entries[place->index].results.reset();
	all_places().put(place);
	place = nullptr;
	delete results;
	results = nullptr;
	owner = 0;
}

void rxx::copy(const rxx &r)
{
	rxx_pattern *p = r.pattern;

	if (p != nullptr)
		__atomic_fetch_add(&p->count, 1, __ATOMIC_RELAXED);
	clear();
	pattern = p;
}

rxx &rxx::operator=(const rxx &r)
{
	if (this != &r)
		copy(r);
	return *this;
}

bool rxx::has_groups() const
{
	return pattern != nullptr && pattern->groups > 1;
}

bool rrxx::compile(const char *pat, const char *opt)
{
	err = init(pat, opt);
	return !err;
}

bool rrxx::compile(const str &s, const char *opt)
{
	err = init(s.cstr(), s.len(), opt);
	return !err;
}

/* ---------------------------------------------------------------- results */

/* What this thread has, or NULL. */
rxx_results *rxx::result() const
{
	rxx_place *p;

	if (__atomic_load_n(&owner, __ATOMIC_RELAXED) == own_number())
		return results;
	p = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
	if (p == nullptr || own_table == nullptr || p->index >= own_table->entries.size())
		return nullptr;
	const entry &e = own_table->entries[p->index];
	return e.serial == p->serial ? e.results.get() : nullptr;
}

/* The same, made if there is none. */
rxx_results *rxx::own_result()
{
	uint64_t nobody = 0;
	rxx_place *p;

	if (__atomic_compare_exchange_n(&owner, &nobody, own_number(), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
	    nobody == own_number()) {
		if (results == nullptr)
			results = new rxx_results;
		return results;
	}
	p = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
	if (p == nullptr) {
		rxx_place *ours = all_places().get();

		if (__atomic_compare_exchange_n(&place, &p, ours, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			p = ours;
		else
			all_places().put(ours);
	}
	freer.is_used = true;
	if (own_table == nullptr)
		own_table = new table;
	if (own_table->entries.size() <= p->index)
		own_table->entries.resize(p->index + 1);
	entry &e = own_table->entries[p->index];
	if (e.serial != p->serial || e.results == nullptr) {
		e.serial = p->serial;
		e.results = std::make_unique<rxx_results>();
	}
	return e.results.get();
}

bool rxx::run(const str &s, const char *p, size_t n, size_t from, uint32_t options)
{
	rxx_results *r = own_result();
	int code = PCRE2_ERROR_NULL;

	if (pattern == nullptr)
		code = PCRE2_ERROR_NOMATCH;
	if (pattern != nullptr && r->data == nullptr)
		r->data = pcre2_match_data_create(pattern->groups, nullptr);
	if (pattern != nullptr && p != nullptr)
		code = r->data == nullptr ? PCRE2_ERROR_NOMEMORY :
			pcre2_match(pattern->code, reinterpret_cast<PCRE2_SPTR>(p), n, from, options, r->data, nullptr);
	r->subject = s;
	r->p = p;
	r->matched = code > 0 ? code : 0;
	r->errcode = code > 0 ? 0 : old_error(code);
	return code > 0;
}

bool rxx::exec(str s, int options)
{
	return run(s, s.cstr(), s.len(), 0, match_options(options));
}

rxx::matchresult rxx::match(str s, int opt)
{
	run(s, s.cstr(), s.len(), 0, match_options(opt) | PCRE2_ANCHORED | PCRE2_ENDANCHORED);
	return matchresult(*this);
}

rxx::matchresult rxx::search_cstr(const char *p, size_t n, int opt)
{
	run(str(), p, n, 0, match_options(opt));
	return matchresult(*this);
}

bool rxx::_exec(const char *p, size_t n, int options)
{
	return run(str(), p, n, 0, match_options(options)) || errcode() == PCRE_ERROR_NOMATCH;
}

bool rxx::success() const
{
	rxx_results *r = result();

	return r != nullptr && r->matched > 0;
}

int rxx::errcode() const
{
	rxx_results *r = result();

	return r != nullptr ? r->errcode : PCRE_ERROR_NOMATCH;
}

int rxx::start(int n) const
{
	rxx_results *r = result();

	if (r == nullptr || n < 0 || n >= r->matched)
		return -1;
	size_t from = pcre2_get_ovector_pointer(r->data)[static_cast<size_t>(n) * 2];
	return from == PCRE2_UNSET ? -1 : int(from);
}

int rxx::end(int n) const
{
	rxx_results *r = result();

	if (r == nullptr || n < 0 || n >= r->matched)
		return -1;
	size_t to = pcre2_get_ovector_pointer(r->data)[2 * n + 1];
	return to == PCRE2_UNSET ? -1 : int(to);
}

int rxx::len(int n) const
{
	int from = start(n);

	return from < 0 ? -1 : end(n) - from;
}

str rxx::at(ptrdiff_t n) const
{
	rxx_results *r = result();

	if (r == nullptr || n < 0 || n >= r->matched)
		return str();
	const size_t *pair = pcre2_get_ovector_pointer(r->data) + static_cast<size_t>(n) * 2;
	if (pair[0] == PCRE2_UNSET)
		return str();
	/* \K in a lookahead can make a match begin behind its end. */
	return pair[1] > pair[0] ? str(r->p + pair[0], pair[1] - pair[0]) : str("");
}

/* ---------------------------------------------------------------- s / "pattern", split */

const rxx &strstrmatch::done() const
{
	if (!is_done) {
		r = rxx(p, o);
		r.exec(s, 0);
		is_done = true;
	}
	return r;
}

int split(vec<str> *out, rxx pat, str expr, size_t lim, bool emptylast)
{
	const char *p = expr.cstr();
	size_t from = 0;
	vec<str> pieces;

	while (from < expr.len() && pieces.size() + 1 < lim) {
		/* An empty match where a piece begins would cut nothing. */
		if (!pat.run(expr, p, expr.len(), from, PCRE2_NOTEMPTY_ATSTART))
			break;
		size_t cut = size_t(pat.start(0)), next = size_t(pat.end(0));
		if (cut < from || next < cut || next == from)
			break;
		pieces.push_back(str(p + from, cut - from));
		from = next;
	}
	if (expr && lim > 0 && (from < expr.len() || emptylast))
		pieces.push_back(str(p + from, expr.len() - from));
	int n = int(pieces.size());
	if (out != nullptr)
		out->swap(pieces);
	return n;
}
