package route

import "strings"

// tlsConditions are the conditions on the client's TLS handshake.
type tlsConditions struct{ serverName, identity textCondition }

func (t *tlsConditions) hold(r *Request) bool {
	return t.serverName.holds(r.ServerName) && t.identity.holds(r.ClientIdentity)
}

// textCondition compares a text. The zero value holds for every text.
type textCondition struct {
	exact, prefix, suffix string // at most one is set
	present               bool   // the text is not empty
}

func (c *textCondition) holds(text string) bool {
	switch {
	case c.exact != "":
		return text == c.exact
	case c.present:
		return text != ""
	}
	return strings.HasPrefix(text, c.prefix) && strings.HasSuffix(text, c.suffix)
}

// compileTLS returns nil if m has no conditions on TLS.
func (b *builder) compileTLS(at fieldPath, m *Match) *tlsConditions {
	if m.ServerName == "" && m.ClientIdentity == "" {
		return nil
	}
	t := &tlsConditions{}
	name := strings.ToLower(m.ServerName)
	rest, wildcard := strings.CutPrefix(name, "*")
	switch {
	case strings.ContainsAny(rest, "*:/ ") || wildcard && (len(rest) < 2 || rest[0] != '.'):
		b.addError(at.dot("server_name"), "%q: write a host name without a port, or *. and a name for all names below it", m.ServerName)
	case wildcard:
		t.serverName.suffix = rest
	default:
		t.serverName.exact = name
	}
	rest, wildcard = strings.CutSuffix(m.ClientIdentity, "*")
	switch {
	case strings.Contains(rest, "*"):
		b.addError(at.dot("client_identity"), "%q: write an identity, or the beginning of one and a star", m.ClientIdentity)
	case wildcard && rest == "":
		t.identity.present = true
	case wildcard:
		t.identity.prefix = rest
	default:
		t.identity.exact = rest
	}
	return t
}
