package edge

import (
	"net"
	"net/netip"
	"strings"
)

// SetOrigins replaces Config.Origins.
func (l *Listener) SetOrigins(origins []string) { l.origins.Store(&origins) }

// Origins returns the web origins whose pages may use the listener.
func (l *Listener) Origins() []string { return *l.origins.Load() }

// Allowed reports whether pages of a web origin may use the listener.
func (l *Listener) Allowed(origin string) bool {
	for _, o := range l.Origins() {
		if o == "*" || strings.EqualFold(o, origin) {
			return true
		}
	}
	return false
}

// CheckOrigin refuses requests that pages of other sites make. origin is the value of Origin, which a browser sends with each request of a page to another site,
// and with each POST and WebSocket. authority is the host of the request. If clients need no credential, it must be an address or localhost: a page could reach the
// listener by a name of its own site, which its owner lets resolve to this machine.
func (l *Listener) CheckOrigin(origin, authority []byte) *Refusal {
	switch {
	case l.Anonymous() != "" && !local(authority):
		return &Refusal{Status: 421, Code: "misdirected", Reason: "clients without a credential reach this server by an IP address or as localhost"}
	case len(origin) > 0 && !l.Allowed(string(origin)) && !l.sameOrigin(origin, authority):
		return &Refusal{Status: 403, Code: "forbidden_origin", Reason: "pages of this origin may not use the server: name it in http.origins of the listener"}
	}
	return nil
}

// sameOrigin reports whether a page is of the listener itself.
func (l *Listener) sameOrigin(origin, authority []byte) bool {
	scheme := "http://"
	if l.cfg.TLS != nil {
		scheme = "https://"
	}
	return local(authority) && strings.EqualFold(string(origin), scheme+string(authority))
}

// local reports whether a host is an IP address or localhost.
func local(authority []byte) bool {
	host := string(authority)
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}
