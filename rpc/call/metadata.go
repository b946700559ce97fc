package call

import (
	"slices"
	"strings"
)

// Field is one entry of Metadata. Name is in lower case: letters, digits, and - _ . only. If Name ends in -bin, Value may hold
// any bytes; otherwise printable ASCII. Names that begin with grpc- or ferry- are reserved for protocols.
type Field struct{ Name, Value string }

// Metadata is what accompanies a call beside its messages, in order. A name may occur more than once. nil is empty.
type Metadata []Field

// Get returns the first value of name, or "" if there is none. The case of letters does not matter.
func (m Metadata) Get(name string) string {
	for i := range m {
		if strings.EqualFold(m[i].Name, name) {
			return m[i].Value
		}
	}
	return ""
}

// Values returns all values of name.
func (m Metadata) Values(name string) (all []string) {
	for i := range m {
		if strings.EqualFold(m[i].Name, name) {
			all = append(all, m[i].Value)
		}
	}
	return all
}

// Add appends a field with the name in lower case.
func (m *Metadata) Add(name, value string) {
	*m = append(*m, Field{strings.ToLower(name), value})
}

// httpFields are the header fields of HTTP itself. RFC 9110, sections 6 to 12.
var httpFields = []string{
	"accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "date", "expect", "host", "keep-alive",
	"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent",
}

// OfHTTP reports whether name, in lower case, is a header field of HTTP itself. It means something between two neighbours, such as a proxy and a server, so it is not
// passed on with a call, although some protocols show it as metadata.
func OfHTTP(name string) bool { return slices.Contains(httpFields, name) }
