package http2

// nameID identifies the field names that this package knows: those of the static table (RFC 7541, appendix A), and others that it
// judges or that often repeat. All other names have the ID nameOther.
type nameID uint8

const (
	nameOther nameID = iota
	nameAuthority
	nameMethod
	namePath
	nameScheme
	nameStatus
	nameAcceptCharset
	nameAcceptEncoding
	nameAcceptLanguage
	nameAcceptRanges
	nameAccept
	nameAccessControlAllowOrigin
	nameAge
	nameAllow
	nameAuthorization
	nameCacheControl
	nameContentDisposition
	nameContentEncoding
	nameContentLanguage
	nameContentLength
	nameContentLocation
	nameContentRange
	nameContentType
	nameCookie
	nameDate
	nameETag
	nameExpect
	nameExpires
	nameFrom
	nameHost
	nameIfMatch
	nameIfModifiedSince
	nameIfNoneMatch
	nameIfRange
	nameIfUnmodifiedSince
	nameLastModified
	nameLink
	nameLocation
	nameMaxForwards
	nameProxyAuthenticate
	nameProxyAuthorization
	nameRange
	nameReferer
	nameRefresh
	nameRetryAfter
	nameServer
	nameSetCookie
	nameStrictTransportSecurity
	nameTransferEncoding
	nameUserAgent
	nameVary
	nameVia
	nameWwwAuthenticate
	nameProtocol
	nameConnection
	nameKeepAlive
	nameProxyConnection
	nameUpgrade
	nameTE
	nameTrailer
	nameGrpcStatus
	nameGrpcMessage
	nameGrpcEncoding
	nameGrpcAcceptEncoding
	nameGrpcTimeout
	nameXForwardedFor
	nameXForwardedProto
	nameXForwardedHost
	nameXRequestId
	nameTraceparent
	nameOrigin
	namePriority
	nameXContentTypeOptions
	nameXFrameOptions
	nameXXssProtection
	nameAltSvc
	nameContentSecurityPolicy
	nameCount
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
var names = [nameCount]struct {
	text   string
	static uint8
	is     uint8
}{
	nameAuthority:                {":authority", 1, isPseudo | isRepeated},
	nameMethod:                   {":method", 2, isPseudo},
	namePath:                     {":path", 4, isPseudo | isRepeated},
	nameScheme:                   {":scheme", 6, isPseudo},
	nameStatus:                   {":status", 8, isPseudo | isRepeated},
	nameAcceptCharset:            {"accept-charset", 15, isRepeated},
	nameAcceptEncoding:           {"accept-encoding", 16, isRepeated},
	nameAcceptLanguage:           {"accept-language", 17, isRepeated},
	nameAcceptRanges:             {"accept-ranges", 18, isRepeated},
	nameAccept:                   {"accept", 19, isRepeated},
	nameAccessControlAllowOrigin: {"access-control-allow-origin", 20, isRepeated},
	nameAge:                      {"age", 21, 0},
	nameAllow:                    {"allow", 22, isRepeated},
	nameAuthorization:            {"authorization", 23, isSensitive},
	nameCacheControl:             {"cache-control", 24, isRepeated},
	nameContentDisposition:       {"content-disposition", 25, 0},
	nameContentEncoding:          {"content-encoding", 26, isRepeated},
	nameContentLanguage:          {"content-language", 27, isRepeated},
	nameContentLength:            {"content-length", 28, isJudged},
	nameContentLocation:          {"content-location", 29, 0},
	nameContentRange:             {"content-range", 30, 0},
	nameContentType:              {"content-type", 31, isRepeated},
	nameCookie:                   {"cookie", 32, isJudged | isSensitive},
	nameDate:                     {"date", 33, isRepeated},
	nameETag:                     {"etag", 34, 0},
	nameExpect:                   {"expect", 35, isJudged},
	nameExpires:                  {"expires", 36, 0},
	nameFrom:                     {"from", 37, 0},
	nameHost:                     {"host", 38, isJudged | isRepeated},
	nameIfMatch:                  {"if-match", 39, 0},
	nameIfModifiedSince:          {"if-modified-since", 40, 0},
	nameIfNoneMatch:              {"if-none-match", 41, 0},
	nameIfRange:                  {"if-range", 42, 0},
	nameIfUnmodifiedSince:        {"if-unmodified-since", 43, 0},
	nameLastModified:             {"last-modified", 44, isRepeated},
	nameLink:                     {"link", 45, 0},
	nameLocation:                 {"location", 46, 0},
	nameMaxForwards:              {"max-forwards", 47, 0},
	nameProxyAuthenticate:        {"proxy-authenticate", 48, 0},
	nameProxyAuthorization:       {"proxy-authorization", 49, isSensitive},
	nameRange:                    {"range", 50, 0},
	nameReferer:                  {"referer", 51, isRepeated},
	nameRefresh:                  {"refresh", 52, 0},
	nameRetryAfter:               {"retry-after", 53, 0},
	nameServer:                   {"server", 54, isRepeated},
	nameSetCookie:                {"set-cookie", 55, isSensitive},
	nameStrictTransportSecurity:  {"strict-transport-security", 56, isRepeated},
	nameTransferEncoding:         {"transfer-encoding", 57, isForbidden},
	nameUserAgent:                {"user-agent", 58, isRepeated},
	nameVary:                     {"vary", 59, isRepeated},
	nameVia:                      {"via", 60, isRepeated},
	nameWwwAuthenticate:          {"www-authenticate", 61, 0},
	nameProtocol:                 {":protocol", 0, isPseudo},
	nameConnection:               {"connection", 0, isForbidden},
	nameKeepAlive:                {"keep-alive", 0, isForbidden},
	nameProxyConnection:          {"proxy-connection", 0, isForbidden},
	nameUpgrade:                  {"upgrade", 0, isForbidden},
	nameTE:                       {"te", 0, isJudged | isRepeated},
	nameTrailer:                  {"trailer", 0, 0},
	nameGrpcStatus:               {"grpc-status", 0, isRepeated},
	nameGrpcMessage:              {"grpc-message", 0, 0},
	nameGrpcEncoding:             {"grpc-encoding", 0, isRepeated},
	nameGrpcAcceptEncoding:       {"grpc-accept-encoding", 0, isRepeated},
	nameGrpcTimeout:              {"grpc-timeout", 0, 0},
	nameXForwardedFor:            {"x-forwarded-for", 0, 0},
	nameXForwardedProto:          {"x-forwarded-proto", 0, isRepeated},
	nameXForwardedHost:           {"x-forwarded-host", 0, isRepeated},
	nameXRequestId:               {"x-request-id", 0, 0},
	nameTraceparent:              {"traceparent", 0, 0},
	nameOrigin:                   {"origin", 0, isRepeated},
	namePriority:                 {"priority", 0, isRepeated},
	nameXContentTypeOptions:      {"x-content-type-options", 0, isRepeated},
	nameXFrameOptions:            {"x-frame-options", 0, isRepeated},
	nameXXssProtection:           {"x-xss-protection", 0, isRepeated},
	nameAltSvc:                   {"alt-svc", 0, isRepeated},
	nameContentSecurityPolicy:    {"content-security-policy", 0, isRepeated},
}

// staticEntries is the static table. Index 0 is not used. RFC 7541, appendix A.
var staticEntries = [staticCount + 1]struct {
	id    nameID
	value string
}{
	1:  {nameAuthority, ""},
	2:  {nameMethod, "GET"},
	3:  {nameMethod, "POST"},
	4:  {namePath, "/"},
	5:  {namePath, "/index.html"},
	6:  {nameScheme, "http"},
	7:  {nameScheme, "https"},
	8:  {nameStatus, "200"},
	9:  {nameStatus, "204"},
	10: {nameStatus, "206"},
	11: {nameStatus, "304"},
	12: {nameStatus, "400"},
	13: {nameStatus, "404"},
	14: {nameStatus, "500"},
	15: {nameAcceptCharset, ""},
	16: {nameAcceptEncoding, "gzip, deflate"},
	17: {nameAcceptLanguage, ""},
	18: {nameAcceptRanges, ""},
	19: {nameAccept, ""},
	20: {nameAccessControlAllowOrigin, ""},
	21: {nameAge, ""},
	22: {nameAllow, ""},
	23: {nameAuthorization, ""},
	24: {nameCacheControl, ""},
	25: {nameContentDisposition, ""},
	26: {nameContentEncoding, ""},
	27: {nameContentLanguage, ""},
	28: {nameContentLength, ""},
	29: {nameContentLocation, ""},
	30: {nameContentRange, ""},
	31: {nameContentType, ""},
	32: {nameCookie, ""},
	33: {nameDate, ""},
	34: {nameETag, ""},
	35: {nameExpect, ""},
	36: {nameExpires, ""},
	37: {nameFrom, ""},
	38: {nameHost, ""},
	39: {nameIfMatch, ""},
	40: {nameIfModifiedSince, ""},
	41: {nameIfNoneMatch, ""},
	42: {nameIfRange, ""},
	43: {nameIfUnmodifiedSince, ""},
	44: {nameLastModified, ""},
	45: {nameLink, ""},
	46: {nameLocation, ""},
	47: {nameMaxForwards, ""},
	48: {nameProxyAuthenticate, ""},
	49: {nameProxyAuthorization, ""},
	50: {nameRange, ""},
	51: {nameReferer, ""},
	52: {nameRefresh, ""},
	53: {nameRetryAfter, ""},
	54: {nameServer, ""},
	55: {nameSetCookie, ""},
	56: {nameStrictTransportSecurity, ""},
	57: {nameTransferEncoding, ""},
	58: {nameUserAgent, ""},
	59: {nameVary, ""},
	60: {nameVia, ""},
	61: {nameWwwAuthenticate, ""},
}

const staticCount = 61

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
