package http1

// Span is a range of the data that a head was parsed from. Start is the offset of its first byte, End the offset after its
// last byte.
type Span struct{ Start, End uint32 }

// Of returns the bytes of s, a view of data.
func (s Span) Of(data []byte) []byte { return data[s.Start:s.End:s.End] }

// Empty reports whether s has no bytes.
func (s Span) Empty() bool { return s.Start == s.End }

func span(start, end int) Span { return Span{uint32(start), uint32(end)} }

// Field is one header or trailer field. Its Name starts at the beginning of the field's line.
type Field struct {
	Name  Span
	Value Span // the value without white space before and after it
	ID    ID
}

// ID identifies the fields that a proxy evaluates. All other fields have the ID Other.
type ID uint8

// The fields with an ID.
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
	Proxy // the field Proxy; a CGI program would use its value as HTTP_PROXY
	ProxyConnection
	ProxyAuthenticate
	ProxyAuthorization
	XForwardedFor
	XForwardedProto
	XForwardedClientCert
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

func setOf(ids ...ID) (s idSet) {
	for _, id := range ids {
		s |= 1 << id
	}
	return s
}

func (s idSet) has(id ID) bool { return s>>id&1 != 0 }

var (
	// hopByHop fields are meant for one connection (RFC 9110, section 7.6.1). They are never forwarded unchanged.
	hopByHop = setOf(Connection, KeepAlive, TE, Upgrade, Proxy, ProxyConnection, ProxyAuthenticate, ProxyAuthorization)
	// framing fields define where a message ends.
	framing = setOf(ContentLength, TransferEncoding)
	// headOnly fields are refused in trailers, because the proxy has already evaluated the head (RFC 9110, section 6.5.1).
	headOnly = hopByHop | framing | setOf(Host, Expect, Trailer, XForwardedFor, XForwardedProto, XForwardedClientCert, Via,
		Traceparent, Authorization, Cookie, SetCookie, ContentType, ContentEncoding, ContentRange, CacheControl)
)

// FieldID returns the ID of the field with that name. Upper and lower case are equal.
func FieldID(name []byte) ID {
	if len(name) == 0 {
		return Other
	}
	return classify(name)
}

// classify returns the ID of a name. At most one known name has the same length and first letter, so one comparison is enough.
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
	case 23:
		id, want = XForwardedClientCert, "x-forwarded-client-cert"
	}
	if id == Other || !equalFold(name, want) {
		return Other
	}
	return id
}
