package http2

// nameID identifies the field names that this package knows: those of the static table (RFC 7541, appendix A), and others that it
// judges or that often repeat. All other names have the ID nameOther.
type nameID uint8

// The IDs that the code refers to. The others follow them in names.
const (
	nameOther nameID = iota
	nameAuthority
	nameMethod
	namePath
	nameScheme
	nameStatus
	nameProtocol
	nameContentLength
	nameCookie
	nameExpect
	nameHost
	nameTE

	nameCount = nameID(len(names))
)

// The properties of a name.
const (
	isPseudo    = 1 << iota // a pseudo-header field; RFC 9113, section 8.3
	isForbidden             // a field of a connection; RFC 9113, section 8.2.2
	isJudged                // a field whose value Conn judges
	isSensitive             // the Encoder never indexes it; RFC 7541, section 7.1.3
	isRepeated              // the value often repeats on a connection, so the Encoder indexes it
)

// names has the name of each ID, the index of its first entry in the static table or 0, and its properties.
var names = [...]struct {
	text   string
	static uint8
	is     uint8
}{
	nameAuthority:     {":authority", 1, isPseudo | isRepeated},
	nameMethod:        {":method", 2, isPseudo},
	namePath:          {":path", 4, isPseudo | isRepeated},
	nameScheme:        {":scheme", 6, isPseudo},
	nameStatus:        {":status", 8, isPseudo | isRepeated},
	nameProtocol:      {":protocol", 0, isPseudo},
	nameContentLength: {"content-length", 28, isJudged},
	nameCookie:        {"cookie", 32, isJudged | isSensitive},
	nameExpect:        {"expect", 35, isJudged},
	nameHost:          {"host", 38, isJudged | isRepeated},
	nameTE:            {"te", 0, isJudged | isRepeated},
	{"accept-charset", 15, isRepeated},
	{"accept-encoding", 16, isRepeated},
	{"accept-language", 17, isRepeated},
	{"accept-ranges", 18, isRepeated},
	{"accept", 19, isRepeated},
	{"access-control-allow-origin", 20, isRepeated},
	{"age", 21, 0},
	{"allow", 22, isRepeated},
	{"authorization", 23, isSensitive},
	{"cache-control", 24, isRepeated},
	{"content-disposition", 25, 0},
	{"content-encoding", 26, isRepeated},
	{"content-language", 27, isRepeated},
	{"content-location", 29, 0},
	{"content-range", 30, 0},
	{"content-type", 31, isRepeated},
	{"date", 33, isRepeated},
	{"etag", 34, 0},
	{"expires", 36, 0},
	{"from", 37, 0},
	{"if-match", 39, 0},
	{"if-modified-since", 40, 0},
	{"if-none-match", 41, 0},
	{"if-range", 42, 0},
	{"if-unmodified-since", 43, 0},
	{"last-modified", 44, isRepeated},
	{"link", 45, 0},
	{"location", 46, 0},
	{"max-forwards", 47, 0},
	{"proxy-authenticate", 48, 0},
	{"proxy-authorization", 49, isSensitive},
	{"range", 50, 0},
	{"referer", 51, isRepeated},
	{"refresh", 52, 0},
	{"retry-after", 53, 0},
	{"server", 54, isRepeated},
	{"set-cookie", 55, isSensitive},
	{"strict-transport-security", 56, isRepeated},
	{"transfer-encoding", 57, isForbidden},
	{"user-agent", 58, isRepeated},
	{"vary", 59, isRepeated},
	{"via", 60, isRepeated},
	{"www-authenticate", 61, 0},
	{"connection", 0, isForbidden},
	{"keep-alive", 0, isForbidden},
	{"proxy-connection", 0, isForbidden},
	{"upgrade", 0, isForbidden},
	{"trailer", 0, 0},
	{"grpc-status", 0, isRepeated},
	{"grpc-message", 0, 0},
	{"grpc-encoding", 0, isRepeated},
	{"grpc-accept-encoding", 0, isRepeated},
	{"grpc-timeout", 0, 0},
	{"x-forwarded-for", 0, 0},
	{"x-forwarded-proto", 0, isRepeated},
	{"x-forwarded-host", 0, isRepeated},
	{"x-request-id", 0, 0},
	{"traceparent", 0, 0},
	{"origin", 0, isRepeated},
	{"priority", 0, isRepeated},
	{"x-content-type-options", 0, isRepeated},
	{"x-frame-options", 0, isRepeated},
	{"x-xss-protection", 0, isRepeated},
	{"alt-svc", 0, isRepeated},
	{"content-security-policy", 0, isRepeated},
}

const staticCount = 61

// staticEntries is the static table. Index 0 is not used. RFC 7541, appendix A.
var staticEntries = func() (t [staticCount + 1]staticEntry) {
	for id := range nameCount {
		t[names[id].static].id = id
	}
	t[0] = staticEntry{}
	for i, e := range []staticEntry{ // from index 2 on
		{nameMethod, "GET"},
		{nameMethod, "POST"},
		{namePath, "/"},
		{namePath, "/index.html"},
		{nameScheme, "http"},
		{nameScheme, "https"},
		{nameStatus, "200"},
		{nameStatus, "204"},
		{nameStatus, "206"},
		{nameStatus, "304"},
		{nameStatus, "400"},
		{nameStatus, "404"},
		{nameStatus, "500"},
	} {
		t[2+i] = e
	}
	t[16].value = "gzip, deflate"
	return t
}()

type staticEntry struct {
	id    nameID
	value string
}

// nameHash has the ID of each known name at the position of its hash. No two known names have one hash; a test checks it.
var nameHash = func() (t [256]nameID) {
	for id := range nameCount {
		if id != nameOther {
			t[hashName(names[id].text)] = id
		}
	}
	return t
}()

// hashName hashes a name that is not empty. The case of letters does not matter.
func hashName[T string | []byte](name T) uint8 {
	n := len(name)
	return uint8(n)*100 + (name[0]|0x20)*161 + (name[n-1]|0x20)*165 + (name[n>>1]|0x20)*189
}

// nameIDOf returns the ID of a name. The case of letters does not matter.
func nameIDOf[T string | []byte](name T) nameID {
	if len(name) == 0 {
		return nameOther
	}
	id := nameHash[hashName(name)]
	want := names[id].text
	if string(name) == want {
		return id
	}
	if len(name) != len(want) {
		return nameOther
	}
	for i := range len(want) {
		c := name[i]
		if c-'A' < 26 {
			c |= 0x20
		}
		if c != want[i] {
			return nameOther
		}
	}
	return id
}
