package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"example.com/ferry/internal/password"
	"example.com/ferry/internal/regularfile"
)

// minToken is the least length of a token, in characters.
const minToken = 16

// TokenHash returns the SHA-256 of the identity's token, nil if it has none. field is where the configuration has the token, also with an error.
// No error shows the token.
func (id Identity) TokenHash() (sum []byte, field string, err error) {
	token, field := id.Token, "token"
	if id.TokenFile != "" {
		field = "token_file"
		data, err := regularfile.Read(id.TokenFile, MaxTokenFile)
		if err != nil {
			return nil, field, err
		}
		if token = strings.TrimSpace(string(data)); len(token) < minToken {
			return nil, field, fmt.Errorf("%s holds no token of at least %d characters", id.TokenFile, minToken)
		}
	}
	if text, hashed := strings.CutPrefix(token, "sha256:"); hashed {
		sum, err := hex.DecodeString(text)
		if err != nil || len(sum) != sha256.Size {
			return nil, field, errors.New("sha256: is not followed by 64 hex digits")
		}
		return sum, field, nil
	}
	switch {
	case token == "":
		return nil, field, nil
	case len(token) < minToken:
		return nil, field, fmt.Errorf("too short to be a secret: at least %d characters", minToken)
	}
	hash := sha256.Sum256([]byte(token))
	return hash[:], field, nil
}

// checkCredentials checks the tokens of all identities, and that no two have the same token or common_name: a client would be the one or the
// other.
func (c *Config) checkCredentials(logins *Logins, errs *configErrors) {
	tokens, names := map[string]string{}, map[string]string{} // the identity that has it
	for i, id := range c.Identities {
		at := fmt.Sprintf("identities[%d].", i)
		sum, field, err := id.TokenHash()
		switch other, taken := tokens[string(sum)]; {
		case err != nil:
			errs.add(at+field, "%v", err)
		case taken:
			errs.add(at+field, "the same token as that of identity %q: each has its own", other)
		case sum != nil:
			tokens[string(sum)] = id.Name
		}
		if id.Password != "" {
			if err := password.Hash(id.Password).Check(); err != nil {
				errs.add(at+"password", "%v", err)
			} else if logins.hash(id.Name) != "" {
				errs.add(at+"password", "%q has one in mqtt.password_file, too: leave one of them out", id.Name)
			}
		}
		if other, taken := names[id.CommonName]; taken {
			errs.add(at+"common_name", "%q is that of identity %q, too: each has its own", id.CommonName, other)
		} else if id.CommonName != "" {
			names[id.CommonName] = id.Name
		}
	}
}

// MaxTokenFile bounds the file of a token, in bytes.
const MaxTokenFile = 64 << 10

// tokenFiles finds the fields token_file, in all sections.
var tokenFiles = sync.OnceValue(func() *search { return searchNames("token_file") })

// TokenFiles returns the files that the fields token_file name, in all sections.
func (c *Config) TokenFiles() []string {
	var all []string
	tokenFiles().each(c, func(_ searchPath, v reflect.Value) {
		if file := v.String(); file != "" {
			all = append(all, file)
		}
	})
	return all
}
