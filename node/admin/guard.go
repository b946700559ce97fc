package admin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// guard refuses requests from the pages of other sites. A page can make its own host name resolve to this machine (DNS
// rebinding): only requests whose Host is an IP address, localhost or one of hosts pass. A page that posts from another origin
// is recognized by Origin and Sec-Fetch-Site. A page of another site cannot read a response, but could make the node work, by
// an image whose source is a profile: so it gets none from the interfaces.
func guard(hosts []string, next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !knownHost(r.Host, hosts) {
			writeText(w, http.StatusMisdirectedRequest, "this node does not go by the name "+printable(r.Host)+": use its address, or add the name to admin.hosts")
			return
		}
		h := w.Header()
		if fromOtherSite(r) && slices.ContainsFunc(interfaces, func(p string) bool { return strings.HasPrefix(r.URL.Path, p) }) {
			writeText(w, http.StatusForbidden, "a page of another site may not request this: open the address itself")
			return
		}
		if r.ContentLength != 0 && r.URL.Path != planPath {
			h.Set("Connection", "close") // do not wait for the body, which may come a byte at a time
			writeText(w, http.StatusRequestEntityTooLarge, "no request here takes a body: send none")
			return
		}
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
		next.ServeHTTP(w, r)
	})
}

// interfaces are the paths that cost more than a file, or tell more.
var interfaces = []string{"/debug/", "/api/", "/metrics"}

// fromOtherSite reports whether a browser sends r for a page of another origin. Browsers that do not send Sec-Fetch-Site send
// Origin or Referer, unless the page forbids it. Programs send none of them.
func fromOtherSite(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site != "same-origin" && site != "none"
	}
	for _, h := range []string{"Origin", "Referer"} {
		if from := r.Header.Get(h); from != "" {
			u, err := url.Parse(from)
			return err != nil || u.Host != r.Host
		}
	}
	return false
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

// printable returns at most 100 bytes of s, with ? for spaces and other than ASCII characters.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r
		}
		return '?'
	}, s[:min(len(s), 100)])
}
