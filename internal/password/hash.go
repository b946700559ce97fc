package password

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/bcrypt"
)

// The parameters of New: the second choice of RFC 9106 is too large for a small machine; these are OWASP's for argon2id.
const (
	memory  = 19 << 10 // KiB
	passes  = 2
	threads = 1
	saltLen = 16
	keyLen  = 32
)

// The bounds of hashes that are read: a comparison must not take the machine.
const (
	maxMemory     = 64 << 10 // KiB
	maxPasses     = 16
	maxThreads    = 4  // a comparison shares its CPUs with the event loops
	maxCost       = 14 // of bcrypt
	maxIterations = 1 << 20
	maxPassword   = 64 << 10 // bytes
)

// Hash is the hash of a password, as text: $argon2id$..., $2b$... (bcrypt), or $6$... and $7$... of mosquitto.
type Hash string

// New returns a hash of a password, with a new salt.
func New(password []byte) (Hash, error) {
	if len(password) == 0 || len(password) > maxPassword {
		return "", fmt.Errorf("a password has 1 to %d bytes, and this one has %d", maxPassword, len(password))
	}
	salt := make([]byte, saltLen)
	_, _ = rand.Read(salt) // does not fail
	key := argon2.IDKey(password, salt, passes, memory, threads, keyLen)
	raw := base64.RawStdEncoding
	return Hash(fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, threads, raw.EncodeToString(salt), raw.EncodeToString(key))), nil
}

var errForm = errors.New("no hash of a password: want $argon2id$..., $2b$... (bcrypt), or $6$... or $7$... of mosquitto, as ferry passwd makes them")

// Check returns what is wrong with h, or nil.
func (h Hash) Check() error {
	_, err := h.parse()
	return err
}

// Matches reports whether h is the hash of password.
func (h Hash) Matches(password []byte) bool {
	compare, err := h.parse()
	return err == nil && len(password) <= maxPassword && compare(password)
}

// Threads is how many threads a comparison with h uses.
func (h Hash) Threads() int {
	var m, t, p int
	if _, rest, ok := strings.Cut(string(h), "$m="); ok {
		_, _ = fmt.Sscanf(rest, "%d,t=%d,p=%d", &m, &t, &p)
	}
	return max(p, 1)
}

// parse returns the function that compares a password with h.
func (h Hash) parse() (compare func(password []byte) bool, err error) {
	scheme, rest, _ := strings.Cut(strings.TrimPrefix(string(h), "$"), "$")
	if !strings.HasPrefix(string(h), "$") {
		return nil, errForm
	}
	switch scheme {
	case "argon2id":
		return parseArgon2(strings.Split(rest, "$"))
	case "2a", "2b", "2y":
		cost, err := bcrypt.Cost([]byte(h))
		if err != nil || cost > maxCost {
			return nil, fmt.Errorf("a hash of bcrypt that is malformed, or has a cost above %d", maxCost)
		}
		return func(p []byte) bool { return bcrypt.CompareHashAndPassword([]byte(h), p) == nil }, nil
	case "6", "7":
		return parseMosquitto(scheme, strings.Split(rest, "$"))
	}
	return nil, errForm
}

// parseArgon2 parses v=19, m=19456,t=2,p=1, the salt and the key.
func parseArgon2(parts []string) (func([]byte) bool, error) {
	malformed := fmt.Errorf("a hash of argon2id that is malformed, or needs more than %d MiB, %d passes or %d threads", maxMemory>>10, maxPasses, maxThreads)
	if len(parts) != 4 || parts[0] != "v="+strconv.Itoa(argon2.Version) {
		return nil, malformed
	}
	var m, t uint32
	var p uint8
	if n, err := fmt.Sscanf(parts[1], "m=%d,t=%d,p=%d", &m, &t, &p); n != 3 || err != nil || m == 0 || m > maxMemory || t == 0 || t > maxPasses || p == 0 || p > maxThreads {
		return nil, malformed
	}
	salt, key, err := saltAndKey(base64.RawStdEncoding, parts[2], parts[3])
	if err != nil {
		return nil, malformed
	}
	return func(password []byte) bool {
		return subtle.ConstantTimeCompare(key, argon2.IDKey(password, salt, t, m, p, uint32(len(key)))) == 1
	}, nil
}

// parseMosquitto parses the two forms of mosquitto_passwd: $6$SALT$KEY is SHA-512 of password and salt, $7$ITERATIONS$SALT$KEY is PBKDF2 with
// HMAC-SHA-512.
func parseMosquitto(scheme string, parts []string) (func([]byte) bool, error) {
	malformed := fmt.Errorf("a hash of mosquitto_passwd that is malformed, or has more than %d iterations", maxIterations)
	iterations := 0
	if scheme == "7" && len(parts) == 3 {
		var err error
		if iterations, err = strconv.Atoi(parts[0]); err != nil || iterations < 1 || iterations > maxIterations {
			return nil, malformed
		}
		parts = parts[1:]
	}
	if len(parts) != 2 || scheme == "7" && iterations == 0 {
		return nil, malformed
	}
	salt, key, err := saltAndKey(base64.StdEncoding, parts[0], parts[1])
	if err != nil || len(key) != sha512.Size {
		return nil, malformed
	}
	return func(password []byte) bool {
		var got []byte
		if scheme == "6" {
			sum := sha512.Sum512(append(append([]byte(nil), password...), salt...))
			got = sum[:]
		} else if got, err = pbkdf2.Key(sha512.New, string(password), salt, iterations, sha512.Size); err != nil {
			return false
		}
		return subtle.ConstantTimeCompare(key, got) == 1
	}, nil
}

func saltAndKey(encoding *base64.Encoding, salt, key string) (s, k []byte, err error) {
	if s, err = encoding.DecodeString(salt); err != nil {
		return nil, nil, err
	}
	if k, err = encoding.DecodeString(key); err != nil {
		return nil, nil, err
	}
	if len(s) > 1<<10 || len(k) < 16 || len(k) > 1<<10 {
		return nil, nil, errForm
	}
	return s, k, nil
}
