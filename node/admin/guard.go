package admin

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// guard keeps other sites' pages out. A page that makes a name of its own resolve to this machine (DNS rebinding) is
// told by the Host it asks for: only IP addresses, localhost and the given names pass. A page that posts here from
// elsewhere is told by Origin and Sec-Fetch-Site.
func guard(hosts []string, next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !knownHost(r.Host, hosts) {
			text(w, http.StatusMisdirectedRequest, "this node does not go by the name "+safe(r.Host)+": use its address, or add the name to admin.hosts")
			return
		}
		h := w.Header()
		if r.ContentLength != 0 {
			h.Set("Connection", "close") // so that nothing waits for a body that comes a byte at a time
			text(w, http.StatusRequestEntityTooLarge, "no request here takes a body: send none")
			return
		}
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		next.ServeHTTP(w, r)
	})
}

func knownHost(hostport string, hosts []string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil || host == "localhost" {
		return true
	}
	return slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) })
}

// safe returns s without what could be mistaken for more than a name.
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r
		}
		return '?'
	}, s[:min(len(s), 100)])
}
