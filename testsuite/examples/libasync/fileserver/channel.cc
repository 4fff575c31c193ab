#include "channel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <string.h>
#include <unistd.h>

#include "amisc.h"
#include "err.h"

static const char magic[] = "libasyn1";

static_assert(sizeof(magic) - 1 < GREETING_LEN, "the rest is random");

/* Without memory, or without the algorithm, nothing can go on. */
static void must(int is_done)
{
	if (is_done != 1)
		fatal << "libcrypto failed\n";
}

str read_key(const str &file)
{
	const int fd = open(file.cstr(), O_RDONLY | O_CLOEXEC);
	char key[KEY_LEN];
	ssize_t n;

	if (fd < 0)
		return str();
	n = read(fd, key, sizeof(key));
	(void)close(fd);
	if (n == KEY_LEN)
		return str(key, KEY_LEN);
	errno = EINVAL;
	return str();
}

str make_greeting()
{
	u_char text[GREETING_LEN];

	memcpy(text, magic, sizeof(magic) - 1);
	must(RAND_bytes(text + sizeof(magic) - 1, GREETING_LEN - (sizeof(magic) - 1)));
	return str(reinterpret_cast<char *>(text), GREETING_LEN);
}

bool is_greeting(const str &s)
{
	return s.len() == GREETING_LEN && memcmp(s.cstr(), magic, sizeof(magic) - 1) == 0;
}

/* A context that authenticates by `key`, which it keeps. */
static EVP_MAC_CTX *new_mac(const void *key, size_t len)
{
	EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MAC_CTX *mac = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
	char digest[] = "SHA256";
	OSSL_PARAM params[] = { OSSL_PARAM_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, sizeof(digest) - 1),
				OSSL_PARAM_END };

	must(mac != NULL);
	must(EVP_MAC_init(mac, static_cast<const u_char *>(key), len, params));
	EVP_MAC_free(hmac);
	return mac;
}

static void add(EVP_MAC_CTX *mac, const void *p, size_t len)
{
	must(EVP_MAC_update(mac, static_cast<const u_char *>(p), len));
}

/* A key for one purpose. */
static void derive(u_char out[KEY_LEN], const str &key, const char *purpose, const char *name, const str &from_client,
		   const str &from_server)
{
	EVP_MAC_CTX *mac = new_mac(key.cstr(), key.len());
	size_t len;

	add(mac, purpose, strlen(purpose) + 1);
	add(mac, name, strlen(name) + 1);
	add(mac, from_client.cstr(), from_client.len());
	add(mac, from_server.cstr(), from_server.len());
	must(EVP_MAC_final(mac, out, &len, KEY_LEN));
	EVP_MAC_CTX_free(mac);
}

seal::seal(const str &key, const char *name, const str &from_client, const str &from_server)
    : cipher(EVP_CIPHER_CTX_new()), mac(NULL), number(0)
{
	u_char k[KEY_LEN];

	must(cipher != NULL);
	derive(k, key, "encrypt", name, from_client, from_server);
	must(EVP_EncryptInit_ex(cipher, EVP_chacha20(), NULL, k, NULL));
	derive(k, key, "authenticate", name, from_client, from_server);
	mac = new_mac(k, sizeof(k));
	OPENSSL_cleanse(k, sizeof(k));
}

seal::~seal()
{
	EVP_CIPHER_CTX_free(cipher);
	EVP_MAC_CTX_free(mac);
}

static void put_number(u_char out[8], u_int64_t n)
{
	for (int i = 7; i >= 0; i--, n >>= 8)
		out[i] = u_char(n);
}

/* Begin with the next frame: its number is its nonce. ChaCha20 decrypts as it encrypts. */
void seal::begin(u_char length[4], size_t len)
{
	const u_int32_t n = htonl(u_int32_t(len));
	u_char iv[16] = {};

	put_number(iv + 8, number);
	memcpy(length, &n, 4);
	must(EVP_EncryptInit_ex(cipher, NULL, NULL, NULL, iv));
	must(EVP_MAC_init(mac, NULL, 0, NULL));
	add(mac, iv + 8, 8);
	add(mac, length, 4);
	number++;
}

void seal::end(u_char tag[TAG_LEN])
{
	size_t len;

	must(EVP_MAC_final(mac, tag, &len, TAG_LEN));
}

str seal::close(const str &text)
{
	const size_t len = text.len();
	mstr frame(4 + len + TAG_LEN);
	u_char *p = reinterpret_cast<u_char *>(frame.cstr());
	int done;

	begin(p, len);
	must(EVP_EncryptUpdate(cipher, p + 4, &done, reinterpret_cast<const u_char *>(text.cstr()), int(len)));
	add(mac, p + 4, len);
	end(p + 4 + len);
	return str(frame);
}

/* The length of the text of the first frame. */
static seal::result look(const suio *in, size_t *len)
{
	u_int32_t n;

	if (in->copyout(&n, 4) < 4)
		return seal::INCOMPLETE;
	*len = ntohl(n);
	if (*len > TEXT_MAX)
		return seal::REFUSED;
	return in->resid() < 4 + *len + TAG_LEN ? seal::INCOMPLETE : seal::OPENED;
}

/* Call f (p, n) for each piece of the `len` bytes that follow the first `skip`. */
template <class F> static void each_piece(const suio *in, size_t skip, size_t len, F f)
{
	for (const iovec *v = in->iov(); len > 0; v++) {
		const u_char *p = static_cast<const u_char *>(v->iov_base);
		size_t n = v->iov_len;

		if (skip >= n) {
			skip -= n;
			continue;
		}
		n = min(n - skip, len);
		f(p + skip, n);
		len -= n;
		skip = 0;
	}
}

seal::result seal::open(suio *in, str *text)
{
	u_char length[4], tag[TAG_LEN], got[TAG_LEN];
	u_char *to = got;
	size_t len;
	const result r = look(in, &len);

	if (r != OPENED)
		return r;
	begin(length, len);
	each_piece(in, 4, len, [&](const u_char *p, size_t n) { add(mac, p, n); });
	end(tag);
	each_piece(in, 4 + len, TAG_LEN, [&](const u_char *p, size_t n) {
		memcpy(to, p, n);
		to += n;
	});
	if (CRYPTO_memcmp(tag, got, TAG_LEN) != 0)
		return REFUSED;

	mstr m(len);
	to = reinterpret_cast<u_char *>(m.cstr());
	each_piece(in, 4, len, [&](const u_char *p, size_t n) {
		int done;

		must(EVP_EncryptUpdate(cipher, to, &done, p, int(n)));
		to += n;
	});
	in->rembytes(4 + len + TAG_LEN);
	*text = str(m);
	return OPENED;
}

seal::result seal::skip(suio *in, size_t *len)
{
	const result r = look(in, len);

	if (r == OPENED) {
		in->rembytes(4 + *len + TAG_LEN);
		number++;
	}
	return r;
}
