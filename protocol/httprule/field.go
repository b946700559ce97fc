package httprule

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
	Date
	MaxForwards
	Pragma
	Range
	WWWAuthenticate
	WebSocketKey
	WebSocketAccept
	Alias // another spelling of a known name: see FieldID
)

// IDSet is a set of IDs.
type IDSet uint64

// SetOf returns the set of ids.
func SetOf(ids ...ID) (s IDSet) {
	for _, id := range ids {
		s |= 1 << id
	}
	return s
}

// Has reports whether id is in s.
func (s IDSet) Has(id ID) bool { return s>>id&1 != 0 }

var (
	// HopByHop fields are meant for one connection (RFC 9110, section 7.6.1). They are never forwarded unchanged, and neither are other spellings of
	// known names.
	HopByHop = SetOf(Connection, KeepAlive, TE, Upgrade, Proxy, ProxyConnection, ProxyAuthenticate, ProxyAuthorization, Alias)
	// Framing fields define where a message ends.
	Framing = SetOf(ContentLength, TransferEncoding)
	// headOnly fields are refused in trailers, because a server may take them for fields of the head, which the proxy has already evaluated (RFC
	// 9110, section 6.5.1). net/http resets a request with most of them.
	headOnly = HopByHop | Framing | SetOf(Host, Expect, Trailer, XForwardedFor, XForwardedProto, XForwardedClientCert, Via,
		Traceparent, Authorization, Cookie, SetCookie, ContentType, ContentEncoding, ContentRange, CacheControl, MaxForwards, Pragma, Range,
		WWWAuthenticate, WebSocketKey, WebSocketAccept)
)

// InResponse reports whether a field of a server's response goes to the client. The framing fields do not: each encoding writes its own.
func InResponse(name []byte) bool { return !(HopByHop | Framing).Has(FieldID(name)) }

// InTrailers reports whether trailers may have a field with that name.
func InTrailers(name []byte) bool {
	if headOnly.Has(FieldID(name)) {
		return false
	}
	return len(name) < 3 || !EqualFold(name[:2], "if") || name[2] != '-' // conditions such as If-Match; RFC 9110, section 13.1
}

// FieldID returns the ID of the field with that name. Upper and lower case are equal. The ID is Alias if the name is a known one but for a character
// that is neither a letter nor a digit: programs behind CGI, WSGI and PHP read X_Forwarded_For as X-Forwarded-For.
//
// At most one known name has the same length and first letter, but for a few that are told apart first, so one comparison is enough.
func FieldID(name []byte) ID {
	if len(name) == 0 {
		return Other
	}
	id, want := Other, ""
	switch first := name[0] | 0x20; len(name) {
	case 2:
		id, want = TE, "te"
	case 3:
		id, want = Via, "via"
	case 4:
		if first == 'h' {
			id, want = Host, "host"
		} else {
			id, want = Date, "date"
		}
	case 5:
		if first == 'p' {
			id, want = Proxy, "proxy"
		} else {
			id, want = Range, "range"
		}
	case 6:
		switch first {
		case 'c':
			id, want = Cookie, "cookie"
		case 'e':
			id, want = Expect, "expect"
		case 'p':
			id, want = Pragma, "pragma"
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
		if first == 'c' {
			id, want = ContentType, "content-type"
		} else {
			id, want = MaxForwards, "max-forwards"
		}
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
		switch first {
		case 'c':
			id, want = ContentEncoding, "content-encoding"
		case 'p':
			id, want = ProxyConnection, "proxy-connection"
		case 'w':
			id, want = WWWAuthenticate, "www-authenticate"
		}
	case 17:
		switch first {
		case 's':
			id, want = WebSocketKey, "sec-websocket-key"
		case 't':
			id, want = TransferEncoding, "transfer-encoding"
		case 'x':
			id, want = XForwardedProto, "x-forwarded-proto"
		}
	case 18:
		id, want = ProxyAuthenticate, "proxy-authenticate"
	case 19:
		id, want = ProxyAuthorization, "proxy-authorization"
	case 20:
		id, want = WebSocketAccept, "sec-websocket-accept"
	case 23:
		id, want = XForwardedClientCert, "x-forwarded-client-cert"
	}
	switch {
	case id == Other || EqualFold(name, want):
		return id
	case SameVariable(name, want):
		return Alias
	}
	return Other
}

// SameVariable reports whether name and field are names of one field for a program that makes variables of fields: the case of letters is ignored, and
// each hyphen of field may be another character of a token that is neither a letter nor a digit.
func SameVariable[T string | []byte](name []byte, field T) bool {
	if len(name) != len(field) {
		return false
	}
	for i := range name {
		a, b := name[i], field[i]
		if a != b && (a^b != 0x20 || a|0x20 < 'a' || a|0x20 > 'z') && (b != '-' || isLetterOrDigit(a) || !Is(a, TokenChar)) {
			return false
		}
	}
	return true
}

func isLetterOrDigit(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || Is(c, DigitChar) }
