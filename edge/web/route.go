package web

import (
	"bytes"
	"net/url"
	"strings"

	"example.com/ferry/edge"
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
		case 17, 21, 24:
			f.shake.Field(name, value)
		case 29:
			f.preflight = f.preflight || is("Access-Control-Request-Method")
		}
	}
}

// route begins what the request asks for. data is the head.
func (r *request) route(data []byte) {
	h := &r.head
	r.fields.take(data, h.Fields)
	if refused := r.ls.server.CheckOrigin(r.fields.origin, h.Authority.Of(data)); refused != nil {
		r.refuse(refused)
		return
	}
	r.origin = string(r.fields.origin)
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
	who, ok := credentialOf(r.fields.authorization)
	if !ok {
		r.fail(401, "unauthenticated", "the Authorization field needs the form: Bearer TOKEN, or Basic with user and password")
		return
	}
	if t := query.Get("access_token"); len(r.fields.authorization) == 0 && t != "" {
		who.secret = []byte(t)
	}
	explicit := len(who.secret) > 0 && who.user == "" // otherwise a browser may have added it to a request of any page
	if !explicit && len(r.fields.origin) == 0 && len(r.fields.fetchSite) == 0 && r.unknownPage(r.head.Authority.Of(data)) {
		r.fail(403, "forbidden_origin", "a browser made the request and does not say for which page: send a token, or use https or localhost")
		return
	}
	if !r.login(&who) {
		return
	}
	switch r.head.Method {
	case http1.MethodPost:
		r.beginPublish(&who, name)
	case http1.MethodGet:
		if upgrade := r.head.UpgradeTo(data); r.head.Upgrade && strings.EqualFold(string(upgrade), "websocket") {
			r.beginWebSocket(&who, string(name), query)
			return
		}
		r.beginEvents(&who, string(name), query)
	default:
		r.respond(405, "application/json", edge.Problem("method", "a tag takes POST and GET"), "Allow: GET, POST, OPTIONS\r\n")
	}
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
	return !r.ls.server.Allowed(u.Scheme+"://"+u.Host) && !strings.EqualFold(u.Host, string(authority))
}

func (r *request) preflight() {
	r.respond(204, "", nil, "Access-Control-Allow-Methods: GET, POST\r\nAccess-Control-Allow-Headers: Authorization, Content-Type, "+
		"Ferry-Ack, Ferry-Key, Idempotency-Key, Last-Event-ID\r\nAccess-Control-Max-Age: 600\r\n")
}

func (r *request) serveFile(content []byte, mediaType string) {
	if r.head.Method != http1.MethodGet && r.head.Method != http1.MethodHead {
		r.respond(405, "application/json", edge.Problem("method", "the file takes GET"), "Allow: GET, HEAD\r\n")
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
