package http1

import "example.com/ferry/protocol/httprule"

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
type ID = httprule.ID

// The fields with an ID that requests and responses are parsed by, or that callers look for.
const (
	Other                = httprule.Other
	Host                 = httprule.Host
	Connection           = httprule.Connection
	ContentLength        = httprule.ContentLength
	TransferEncoding     = httprule.TransferEncoding
	Expect               = httprule.Expect
	Upgrade              = httprule.Upgrade
	KeepAlive            = httprule.KeepAlive
	TE                   = httprule.TE
	Trailer              = httprule.Trailer
	Proxy                = httprule.Proxy
	ProxyConnection      = httprule.ProxyConnection
	ProxyAuthenticate    = httprule.ProxyAuthenticate
	ProxyAuthorization   = httprule.ProxyAuthorization
	XForwardedFor        = httprule.XForwardedFor
	XForwardedProto      = httprule.XForwardedProto
	XForwardedClientCert = httprule.XForwardedClientCert
	Via                  = httprule.Via
	Traceparent          = httprule.Traceparent
	Authorization        = httprule.Authorization
	Cookie               = httprule.Cookie
	SetCookie            = httprule.SetCookie
	ContentType          = httprule.ContentType
	ContentEncoding      = httprule.ContentEncoding
	ContentRange         = httprule.ContentRange
	CacheControl         = httprule.CacheControl
)

// FieldID returns the ID of the field with that name. Upper and lower case are equal.
func FieldID(name []byte) ID { return httprule.FieldID(name) }
