package node

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"example.com/ferry/internal/pki"
	"example.com/ferry/node/config"
	"example.com/ferry/stream/hop"
)

var errUnknown = errors.New("node: neither its token nor its certificate is one of identities")

// identities are all who may connect.
type identities struct {
	tokens []secret
	names  map[string]*hop.Identity // by the common name of a certificate
}

// secret is a token, by its SHA-256, and whose it is.
type secret struct {
	sum [sha256.Size]byte
	who *hop.Identity
}

func newIdentities(list []config.Identity, local *pki.Identity) (*identities, error) {
	everything := []string{"#"}
	ids := &identities{
		tokens: []secret{{sha256.Sum256([]byte(local.Token())), &hop.Identity{Name: "local", Publish: everything, Subscribe: everything}}},
		names:  map[string]*hop.Identity{},
	}
	for _, c := range list {
		who := &hop.Identity{Name: c.Name}
		if allowed(c, config.VerbPublish) {
			who.Publish = c.Publish
		}
		if allowed(c, config.VerbSubscribe) {
			who.Subscribe = c.Subscribe
		}
		if c.CommonName != "" {
			if other := ids.names[c.CommonName]; other != nil {
				return nil, fmt.Errorf("node: identities %s and %s have the same common_name %q", other.Name, c.Name, c.CommonName)
			}
			ids.names[c.CommonName] = who
		}
		sum, ok, err := digest(c)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if i := slices.IndexFunc(ids.tokens, func(s secret) bool { return s.sum == sum }); i >= 0 {
			return nil, fmt.Errorf("node: identities %s and %s have the same token", ids.tokens[i].who.Name, c.Name)
		}
		ids.tokens = append(ids.tokens, secret{sum, who})
	}
	return ids, nil
}

func allowed(c config.Identity, v config.Verb) bool {
	return len(c.Verbs) == 0 || slices.Contains(c.Verbs, v)
}

// digest returns the SHA-256 of c's token; ok is false if it has none. No error says what the token is.
func digest(c config.Identity) (sum [sha256.Size]byte, ok bool, err error) {
	token := c.Token
	if c.TokenFile != "" {
		data, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return sum, false, fmt.Errorf("node: token_file of identity %s: %w", c.Name, err)
		}
		if token = strings.TrimSpace(string(data)); len(token) < 16 {
			return sum, false, fmt.Errorf("node: token_file of identity %s: %s holds no token of at least 16 characters", c.Name, c.TokenFile)
		}
	}
	if token == "" {
		return sum, false, nil
	}
	if text, hashed := strings.CutPrefix(token, "sha256:"); hashed {
		if n, err := hex.Decode(sum[:], []byte(text)); err != nil || n != len(sum) || len(text) != 2*len(sum) {
			return sum, false, fmt.Errorf("node: token of identity %s: sha256: is not followed by 64 hex digits", c.Name)
		}
		return sum, true, nil
	}
	return sha256.Sum256([]byte(token)), true, nil
}

// identify is hop.Config.Identify. How long it takes does not tell which token came close: digests are compared, all of
// them.
func (ids *identities) identify(token []byte, state *tls.ConnectionState) (*hop.Identity, error) {
	if len(token) > 0 {
		sum := sha256.Sum256(token)
		var found *hop.Identity
		for i := range ids.tokens {
			if subtle.ConstantTimeCompare(ids.tokens[i].sum[:], sum[:]) == 1 {
				found = ids.tokens[i].who
			}
		}
		if found == nil {
			return nil, errUnknown
		}
		return found, nil
	}
	if state != nil && len(state.VerifiedChains) > 0 {
		if who := ids.names[state.VerifiedChains[0][0].Subject.CommonName]; who != nil {
			return who, nil
		}
	}
	return nil, errUnknown
}
