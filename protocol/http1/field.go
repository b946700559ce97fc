package http1

// Span is a part of the data that a head was parsed from: bytes Start up to End.
type Span struct{ Start, End uint32 }

// Of returns the bytes of s, a view of data.
func (s Span) Of(data []byte) []byte { return data[s.Start:s.End:s.End] }

// Empty reports whether s has no bytes.
func (s Span) Empty() bool { return s.Start == s.End }

func span(start, end int) Span { return Span{uint32(start), uint32(end)} }

// Field is one header or trailer field. Its line begins with its name.
type Field struct {
	Name  Span
	Value Span // without the white space around it
	ID    ID
}

// ID identifies the fields that a proxy evaluates. Every other field is Other.
type ID uint8

// The fields that the parsers distinguish.
const (
	Other ID = iota
	Host
	Connection
	ContentLength
	TransferEncoding
	Expect
	Upgrade
	KeepAlive
	TE
	Trailer
	Proxy // a CGI program would read it as HTTP_PROXY
	ProxyConnection
	ProxyAuthenticate
	ProxyAuthorization
	XForwardedFor
	XForwardedProto
	Via
	Traceparent
	Authorization
	Cookie
	SetCookie
	ContentType
	ContentEncoding
	ContentRange
	CacheControl
)

// idSet is a set of IDs.
type idSet uint32

func set(ids ...ID) (s idSet) {
	for _, id := range ids {
		s |= 1 << id
	}
	return s
}

func (s idSet) has(id ID) bool { return s>>id&1 != 0 }

var (
	// hopByHop are for one connection only (RFC 9110, section 7.6.1). They are never forwarded as they came.
	hopByHop = set(Connection, KeepAlive, TE, Upgrade, Proxy, ProxyConnection, ProxyAuthenticate, ProxyAuthorization)
	// framing fields define where a message ends.
	framing = set(ContentLength, TransferEncoding)
	// headOnly fields are refused in trailers: the proxy has acted without them by then (RFC 9110, section 6.5.1).
	headOnly = hopByHop | framing | set(Host, Expect, Trailer, XForwardedFor, XForwardedProto, Via, Traceparent,
		Authorization, Cookie, SetCookie, ContentType, ContentEncoding, ContentRange, CacheControl)
)

// FieldID is the ID of a field's name, in upper or lower case.
func FieldID(name []byte) ID {
	if len(name) == 0 {
		return Other
	}
	return classify(name)
}

// classify returns the ID of a name. Length and first letter select at most one candidate to compare with.
func classify(name []byte) ID {
	id, want := Other, ""
	switch first := name[0] | 0x20; len(name) {
	case 2:
		id, want = TE, "te"
	case 3:
		id, want = Via, "via"
	case 4:
		id, want = Host, "host"
	case 5:
		id, want = Proxy, "proxy"
	case 6:
		if first == 'e' {
			id, want = Expect, "expect"
		} else {
			id, want = Cookie, "cookie"
		}
	case 7:
		if first == 'u' {
			id, want = Upgrade, "upgrade"
		} else {
			id, want = Trailer, "trailer"
		}
	case 10:
		switch first {
		case 'c':
			id, want = Connection, "connection"
		case 'k':
			id, want = KeepAlive, "keep-alive"
		case 's':
			id, want = SetCookie, "set-cookie"
		}
	case 11:
		id, want = Traceparent, "traceparent"
	case 12:
		id, want = ContentType, "content-type"
	case 13:
		switch first {
		case 'a':
			id, want = Authorization, "authorization"
		case 'c':
			if name[1]|0x20 == 'a' {
				id, want = CacheControl, "cache-control"
			} else {
				id, want = ContentRange, "content-range"
			}
		}
	case 14:
		id, want = ContentLength, "content-length"
	case 15:
		id, want = XForwardedFor, "x-forwarded-for"
	case 16:
		if first == 'p' {
			id, want = ProxyConnection, "proxy-connection"
		} else {
			id, want = ContentEncoding, "content-encoding"
		}
	case 17:
		if first == 't' {
			id, want = TransferEncoding, "transfer-encoding"
		} else {
			id, want = XForwardedProto, "x-forwarded-proto"
		}
	case 18:
		id, want = ProxyAuthenticate, "proxy-authenticate"
	case 19:
		id, want = ProxyAuthorization, "proxy-authorization"
	}
	if id == Other || !equalFold(name, want) {
		return Other
	}
	return id
}
