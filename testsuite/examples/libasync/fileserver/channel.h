/*
 * A secure channel: frames that are encrypted (ChaCha20) and authenticated (HMAC with SHA-256).
 *
 * Both sides have a secret key. Each sends a greeting with random bytes, from which four keys for this connection are
 * derived: one to encrypt and one to authenticate, in each direction. A frame is
 *
 *   length of the text, 4 bytes | the text, encrypted | a tag, 32 bytes
 *
 * in network byte order. The tag covers the number of the frame in its direction, the length and the encrypted text. So
 * a frame that is changed, lost, repeated or moved is refused, and the connection with it.
 */
#ifndef FILESERVER_CHANNEL_H
#define FILESERVER_CHANNEL_H

#include <openssl/evp.h>

#include "str.h"
#include "suio++.h"

enum { KEY_LEN = 32, GREETING_LEN = 24, TAG_LEN = 32, TEXT_MAX = 0x20000 };

/* The secret of a file: its first KEY_LEN bytes. NULL with errno. */
str read_key(const str &file);

/* A greeting: eight known bytes, and random ones. */
str make_greeting();
bool is_greeting(const str &s);

/* One direction. One color at a time. */
class seal
{
	EVP_CIPHER_CTX *cipher;
	EVP_MAC_CTX *mac;
	u_int64_t number;	/* of the next frame */

	void begin(u_char length[4], size_t len);
	void end(u_char tag[TAG_LEN]);

	seal(const seal &) = delete;
	seal &operator=(const seal &) = delete;

public:
	/* `name` is that of the direction; the greetings are the client's and the server's. */
	seal(const str &key, const char *name, const str &from_client, const str &from_server);
	~seal();

	/* A frame. */
	str close(const str &text);

	enum result { OPENED, INCOMPLETE, REFUSED };

	/* Take a frame from the input; *text is what was in it. Nothing is taken unless it is OPENED. */
	result open(suio *in, str *text);

	/* The same without a look at what is in it: *len is the length of the text. For clients that only count. */
	result skip(suio *in, size_t *len);
};

#endif
