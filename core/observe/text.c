#include "text.h"

#include <stdarg.h>
#include <stdio.h>

void ec_text_add(struct ec_text *t, const char *fmt, ...)
{
	size_t room = t->cap - t->len;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at + t->len, room, fmt, ap);
	va_end(ap);
	if (n < 0)
		t->at[t->len] = '\0';
	else
		t->len += (size_t)n < room ? (size_t)n : room - 1;
}

void ec_text_add_json(struct ec_text *t, const char *s)
{
	ec_text_add(t, "\"");
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			ec_text_add(t, "\\%c", *s);
		else if (*s < ' ' || *s > '~')
			ec_text_add(t, "\\u%04x", (unsigned char)*s);
		else
			ec_text_add(t, "%c", *s);
	}
	ec_text_add(t, "\"");
}
