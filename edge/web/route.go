package web

import (
	"bytes"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"example.com/ferry/protocol/http1"
)

// Paths of the server.
const (
	tagsPath    = "/v1/tags/"
	openAPIPath = "/v1/openapi.json"
	modulePath  = "/v1/ferry.js"
)

// take reads the fields that the server uses.
func (f *requestFields) take(data []byte, fields []http1.Field) {
	for i := range fields {
		name, value := fields[i].Name.Of(data), fields[i].Value.Of(data)
		is := func(known string) bool { return strings.EqualFold(string(name), known) }
		switch len(name) {
		case 6:
			if is("Origin") {
				f.origin = value
			}
		case 7:
			if is("Referer") {
				f.referer = value
			}
		case 9:
			switch {
			case is("Ferry-Ack"):
				f.ack = value
			case is("Ferry-Key"):
				f.key = value
			}
		case 10:
			f.browser = f.browser || is("User-Agent") && bytes.HasPrefix(value, []byte("Mozilla/"))
		case 12:
			if is("Content-Type") {
				f.contentType = value
			}
		case 13:
			switch {
			case is("Authorization"):
				f.authorization = value
			case is("Last-Event-ID"):
				f.lastEvent = value
			}
		case 14:
			if is("Sec-Fetch-Site") {
				f.fetchSite = value
			}
		case 15:
			if is("Idempotency-Key") {
				f.id = value
			}
		case 17:
			if is("Sec-WebSocket-Key") {
				f.websocketKey = value
			}
		case 21:
			if is("Sec-WebSocket-Version") {
				f.websocketVersion = value
			}
		case 24:
			if is("Sec-WebSocket-Extensions") {
				f.extensions = value
			}
		case 29:
			f.preflight = f.preflight || is("Access-Control-Request-Method")
		}
	}
}

// route begins what the request asks for. data is the head.
func (r *request) route(data []byte) {
	h := &r.head
	r.fields.take(data, h.Fields)
	if !r.checkOrigin(h.Authority.Of(data)) {
		return
	}
	path := h.Path.Of(data)
	switch {
	case h.Method == http1.MethodOptions && r.fields.preflight:
		r.preflight()
	case bytes.HasPrefix(path, []byte(tagsPath)):
		name, ok := unescape(path[len(tagsPath):])
		if !ok {
			r.fail(400, "bad_request", "the path has a malformed percent-encoding")
			return
		}
		r.routeTag(data, name)
	case string(path) == openAPIPath:
		r.serveFile(openAPI, "application/json")
	case string(path) == modulePath:
		r.serveFile(module, "text/javascript; charset=utf-8")
	default:
		r.fail(404, "not_found", "the paths are /v1/tags/TAG, /v1/openapi.json and /v1/ferry.js")
	}
}

func (r *request) routeTag(data, name []byte) {
	if len(r.fields.origin) == 0 && r.ofOtherSite() {
		r.fail(403, "forbidden_origin", "a page of another site made the request without its origin")
		return
	}
	query, err := url.ParseQuery(string(r.head.Query.Of(data)))
	if err != nil {
		r.fail(400, "bad_request", "the query is malformed")
		return
	}
	token, ok := bearer(r.fields.authorization)
	if !ok {
		r.fail(401, "unauthenticated", "the Authorization field needs the form: Bearer TOKEN")
		return
	}
	if t := query.Get("access_token"); len(token) == 0 && t != "" {
		token = []byte(t)
	}
	if len(token) == 0 && len(r.fields.origin) == 0 && len(r.fields.fetchSite) == 0 && r.unknownPage(r.head.Authority.Of(data)) {
		r.fail(403, "forbidden_origin", "a browser made the request and does not say for which page: send a token, or use https or localhost")
		return
	}
	switch r.head.Method {
	case http1.MethodPost:
		r.beginPublish(token, name)
	case http1.MethodGet:
		if upgrade := r.head.UpgradeTo(data); r.head.Upgrade && strings.EqualFold(string(upgrade), "websocket") {
			r.beginWebSocket(token, string(name), query)
			return
		}
		r.beginEvents(token, string(name), query)
	default:
		r.respond(405, "application/json", problem("method", "a tag takes POST and GET"), "Allow: GET, POST, OPTIONS\r\n")
	}
}

// bearer returns the token of an Authorization field, which may be empty.
func bearer(field []byte) (token []byte, ok bool) {
	const scheme = "Bearer "
	if len(field) == 0 {
		return nil, true
	}
	if len(field) <= len(scheme) || !strings.EqualFold(string(field[:len(scheme)]), scheme) {
		return nil, false
	}
	return bytes.TrimSpace(field[len(scheme):]), true
}

// checkOrigin refuses requests that pages of other sites make. A browser sends Origin with each request of a page to another site, and
// with each POST. If clients need no credential, the name of the server must be an address or localhost: a page could reach the server
// by a name of its own site, which its owner lets resolve to this machine.
func (r *request) checkOrigin(authority []byte) bool {
	s := r.ls.server
	if s.Anonymous() != "" && !local(authority) {
		r.fail(421, "misdirected", "clients without a credential reach this server by an IP address or as localhost")
		return false
	}
	if len(r.fields.origin) == 0 {
		return true
	}
	value, ok := s.allowed(string(r.fields.origin))
	if !ok && !r.sameOrigin(authority) {
		r.fail(403, "forbidden_origin", "pages of this origin may not use the server: name it in http.origins of the listener")
		return false
	}
	r.origin = value
	return true
}

// ofOtherSite reports whether the browser says that a page of another origin made the request. Such a GET can come without Origin: the
// page cannot read the response, but a subscription takes messages of a group, or holds back publishers.
// https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header
func (r *request) ofOtherSite() bool {
	site := string(r.fields.fetchSite)
	return site == "cross-site" || site == "same-site"
}

// unknownPage reports whether a browser may have made the request, which has neither Origin nor Sec-Fetch-Site, for a page of another site. Browsers send the
// latter to https and localhost only. A page may leave Referer out, but not choose it.
func (r *request) unknownPage(authority []byte) bool {
	if len(r.fields.referer) == 0 {
		return r.fields.browser
	}
	u, err := url.Parse(string(r.fields.referer))
	if err != nil {
		return true
	}
	_, known := r.ls.server.allowed(u.Scheme + "://" + u.Host)
	return !known && !strings.EqualFold(u.Host, string(authority))
}

// sameOrigin reports whether the request is of a page of this server.
func (r *request) sameOrigin(authority []byte) bool {
	scheme := "http://"
	if r.ls.server.cfg.TLS != nil {
		scheme = "https://"
	}
	return local(authority) && strings.EqualFold(string(r.fields.origin), scheme+string(authority))
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

func (r *request) preflight() {
	r.respond(204, "", nil, "Access-Control-Allow-Methods: GET, POST\r\nAccess-Control-Allow-Headers: Authorization, Content-Type, "+
		"Ferry-Ack, Ferry-Key, Idempotency-Key, Last-Event-ID\r\nAccess-Control-Max-Age: 600\r\n")
}

func (r *request) serveFile(content []byte, mediaType string) {
	if r.head.Method != http1.MethodGet && r.head.Method != http1.MethodHead {
		r.respond(405, "application/json", problem("method", "the file takes GET"), "Allow: GET, HEAD\r\n")
		return
	}
	r.respond(200, mediaType, content, "Cache-Control: no-cache\r\nX-Content-Type-Options: nosniff\r\n")
}

// unescape replaces percent-encodings in place.
func unescape(p []byte) ([]byte, bool) {
	if bytes.IndexByte(p, '%') < 0 {
		return p, true
	}
	s, err := url.PathUnescape(string(p))
	return []byte(s), err == nil
}
