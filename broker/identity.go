package broker

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"example.com/ferry/internal/topic"
)

// Credential identifies one client: by a token, by a certificate's common name, by the name of the identity and a password, or by any of these.
type Credential struct {
	Identity   Identity
	TokenHash  []byte // SHA-256 of the token; nil if the client has no token
	CommonName string // common name of a certificate that the listener has verified; "" if the client has none
	Password   string // hash of the password, which the Broker passes to those who compare it; "" if the client has none
	Open       bool   // a listener may give the identity to clients without a credential: see LocalConfig.Anonymous

	byToken, byName, byPassword, unproved *Identity // what clients have that prove themselves so, or nil; set by NewIdentities
}

// proof is what a client proved its identity by. The zero value is the proof of an Identity that did not come from an
// Identities.
type proof struct {
	tokenHash  string // SHA-256 of the client's token; "" if it has proved itself by a certificate
	commonName string
	password   string // hash of the password
	anonymous  bool   // the listener has given it the identity
	granted    bool   // a callback has decided the login: see Granted
	like       string // whose grants it has then

	unexpanded *Identity // with ${client} and ${user} in its grants, of an identity that has the names; nil if it is not Identity.of
}

// HashToken returns the TokenHash of a token.
func HashToken(token []byte) []byte {
	sum := sha256.Sum256(token)
	return sum[:]
}

// Identities is a set of clients. It never changes, so its methods may overlap.
type Identities struct {
	known  []Credential
	tokens []*Credential          // those with a token
	names  map[string]*Credential // those with a certificate, by common name
	users  map[string]*Credential // those with a password, by name
	opened map[string]*Credential // those without a credential, by name
	named  map[string]*Credential // all, by name
	hashes []string               // of passwords
	seed   maphash.Seed           // of the choice among hashes
}

// NewIdentities returns the set of these clients. It refuses a client without a credential, and two with the same one.
func NewIdentities(clients []Credential) (*Identities, error) {
	i := &Identities{known: slices.Clone(clients), names: map[string]*Credential{}, users: map[string]*Credential{}, opened: map[string]*Credential{}, named: map[string]*Credential{}, seed: maphash.MakeSeed()}
	tokens := map[string]*Credential{}
	for k := range i.known {
		c := &i.known[k]
		i.named[c.Identity.Name] = c
		if len(c.TokenHash) == 0 && c.CommonName == "" && c.Password == "" && !c.Open {
			return nil, fmt.Errorf("broker: identity %q has neither token, password nor certificate", c.Identity.Name)
		}
		if len(c.TokenHash) > 0 {
			if d := tokens[string(c.TokenHash)]; d != nil {
				return nil, fmt.Errorf("broker: identities %q and %q have the same token", d.Identity.Name, c.Identity.Name)
			}
			tokens[string(c.TokenHash)] = c
			i.tokens, c.byToken = append(i.tokens, c), c.proved(proof{tokenHash: string(c.TokenHash)})
		}
		if c.CommonName != "" {
			if d := i.names[c.CommonName]; d != nil {
				return nil, fmt.Errorf("broker: identities %q and %q have the same common_name", d.Identity.Name, c.Identity.Name)
			}
			i.names[c.CommonName], c.byName = c, c.proved(proof{commonName: c.CommonName})
		}
		if c.Password != "" {
			i.users[c.Identity.Name], c.byPassword = c, c.proved(proof{password: c.Password})
			i.hashes = append(i.hashes, c.Password)
		}
		if c.Open {
			i.opened[c.Identity.Name], c.unproved = c, c.proved(proof{anonymous: true})
		}
	}
	return i, nil
}

// Identify is a Config.Identify for these clients. The time of a token comparison depends only on the number of
// clients with a token. If a client sends a token, its certificate is ignored.
func (i *Identities) Identify(token []byte, state *tls.ConnectionState) (*Identity, error) {
	if len(token) > 0 {
		c := i.byToken(HashToken(token))
		if c == nil {
			return nil, errors.New("broker: unknown token")
		}
		return c.byToken, nil
	}
	if state == nil || len(state.VerifiedChains) == 0 {
		return nil, errors.New("broker: neither token nor verified certificate")
	}
	name := state.PeerCertificates[0].Subject.CommonName
	c := i.names[name]
	if c == nil {
		return nil, fmt.Errorf("broker: no identity has the common_name %q of the certificate", name)
	}
	return c.byName, nil
}

// again returns the present identity of a client that another Identities has identified as before. It returns nil if no
// client of the same name has the credential by which the client proved itself.
func (i *Identities) again(before *Identity) *Identity {
	p := before.proof
	var c *Credential
	switch {
	case p.granted:
		if p.unexpanded != nil { // ${ of an expanded grant is text
			before = p.unexpanded
		}
		id, _ := i.granted(before.Name, p.like, before.Publish, before.Subscribe)
		return id
	case p.tokenHash != "":
		c = i.byToken([]byte(p.tokenHash))
	case p.commonName != "":
		c = i.names[p.commonName]
	case p.password != "":
		if c = i.users[before.Name]; c != nil && c.Password != p.password {
			c = nil
		}
	case p.anonymous:
		c = i.opened[before.Name]
	}
	if c == nil || c.Identity.Name != before.Name {
		return nil
	}
	switch {
	case p.tokenHash != "":
		return c.byToken
	case p.commonName != "":
		return c.byName
	case p.password != "":
		return c.byPassword
	}
	return c.unproved
}

// Password returns the hash with which the password of a user has to be compared, and the identity of a client that has it. Without such a user it returns the
// hash of another one, always the same, and no identity: the comparison takes as long as that of a user, and has to fail. hash is "" if no client has a password.
func (i *Identities) Password(user string) (hash string, identity *Identity) {
	if c := i.users[user]; c != nil {
		return c.Password, c.byPassword
	}
	if len(i.hashes) == 0 {
		return "", nil
	}
	return i.hashes[maphash.String(i.seed, user)%uint64(len(i.hashes))], nil
}

// granted returns the identity of a user whose login a callback has decided. It has the grants of the identity like or, if that is "", those that follow. A
// user must not have the name of an identity of i.
func (i *Identities) granted(user, like string, publish, subscribe []string) (*Identity, error) {
	if i.named[user] != nil {
		return nil, fmt.Errorf("broker: the user %.100q has the name of an identity", user)
	}
	id := Identity{Name: user, Publish: publish, Subscribe: subscribe, proof: proof{granted: true, like: like}}
	if like != "" {
		c := i.named[like]
		if c == nil {
			return nil, fmt.Errorf("broker: the user %.100q has the grants of the identity %.100q, and there is none of this name", user, like)
		}
		id.Publish, id.Subscribe = c.Identity.Publish, c.Identity.Subscribe
	}
	for _, filter := range slices.Concat(id.Publish, id.Subscribe) {
		if err := topic.CheckFilter(filter); err != nil {
			return nil, fmt.Errorf("broker: a grant of the user %.100q: %w", user, err)
		}
	}
	return &id, nil
}

// of returns the identity as a client of this name has it: with the name in place of ${client} in its grants, and that of the identity in place of ${user}. $${
// stands for the text ${. A grant is left out if the name has more than one level, or a wildcard.
func (id *Identity) of(client string) *Identity {
	publish, changed := expand(id.Publish, client, id.Name)
	subscribe, also := expand(id.Subscribe, client, id.Name)
	if !changed && !also {
		return id
	}
	own := *id
	own.Publish, own.Subscribe, own.proof.unexpanded = publish, subscribe, id
	return &own
}

func expand(grants []string, client, user string) (expanded []string, changed bool) {
	if !slices.ContainsFunc(grants, func(g string) bool { return strings.Contains(g, "${") }) {
		return grants, false
	}
	for _, g := range grants {
		parts, possible := strings.Split(g, "$${"), true
		for i := range parts {
			for _, v := range [2][2]string{{"${client}", client}, {"${user}", user}} {
				if strings.Contains(parts[i], v[0]) {
					possible = possible && v[1] != "" && !strings.ContainsAny(v[1], "/+#$")
					parts[i] = strings.ReplaceAll(parts[i], v[0], v[1])
				}
			}
		}
		if possible {
			expanded = append(expanded, strings.Join(parts, "${"))
		}
	}
	return expanded, true
}

// proved returns the identity of a client that has proved itself by p.
func (c *Credential) proved(p proof) *Identity {
	id := c.Identity
	id.proof = p
	return &id
}

// byToken compares all hashes, so that its time does not tell which one is equal.
func (i *Identities) byToken(hash []byte) (found *Credential) {
	for _, c := range i.tokens {
		if subtle.ConstantTimeCompare(hash, c.TokenHash) == 1 {
			found = c
		}
	}
	return found
}

// Anonymous returns the identity of clients without a credential that a listener names, or nil.
func (i *Identities) Anonymous(name string) *Identity {
	if c := i.opened[name]; c != nil {
		return c.unproved
	}
	return nil
}

// Differences returns the names of the clients that only i has, that only before has, and that both have with other
// credentials or grants.
func (i *Identities) Differences(before *Identities) (added, removed, changed []string) {
	was := map[string]*Credential{}
	for k := range before.known {
		was[before.known[k].Identity.Name] = &before.known[k]
	}
	for k := range i.known {
		c := &i.known[k]
		switch old := was[c.Identity.Name]; {
		case old == nil:
			added = append(added, c.Identity.Name)
		case !c.equal(old):
			changed = append(changed, c.Identity.Name)
		}
		delete(was, c.Identity.Name)
	}
	for k := range before.known {
		if name := before.known[k].Identity.Name; was[name] != nil {
			removed = append(removed, name)
		}
	}
	return added, removed, changed
}

func (c *Credential) equal(o *Credential) bool {
	return bytes.Equal(c.TokenHash, o.TokenHash) && c.CommonName == o.CommonName && c.Password == o.Password && c.Open == o.Open &&
		slices.Equal(c.Identity.Publish, o.Identity.Publish) && slices.Equal(c.Identity.Subscribe, o.Identity.Subscribe) &&
		slices.Equal(c.Identity.Call, o.Identity.Call) && slices.Equal(c.Identity.Serve, o.Identity.Serve) &&
		c.Identity.Forward == o.Identity.Forward && c.Identity.TrustValidation == o.Identity.TrustValidation
}
