package call

import "strings"

// Field is one entry of Metadata. Name is in lower case: letters, digits, and - _ . only. If Name ends in -bin, Value may hold
// any bytes; otherwise printable ASCII. Names of header fields of HTTP, and those that begin with grpc-, ferry-, connect- or trailer-, are
// reserved for protocols.
type Field struct{ Name, Value string }

// Valid returns an error with the code InvalidArgument if the form of name or value is not that of a Field. A peer's reserved names are valid.
func (f *Field) Valid() error {
	for _, c := range []byte(f.Name) {
		if c-'a' > 25 && c-'0' > 9 && c != '-' && c != '_' && c != '.' {
			return Errorf(InvalidArgument, "metadata field %.80q: a name has lower-case letters, digits, - _ and . only", f.Name)
		}
	}
	if f.Name == "" {
		return Errorf(InvalidArgument, "a metadata field has no name")
	}
	if strings.HasSuffix(f.Name, BinarySuffix) {
		return nil
	}
	for _, c := range []byte(f.Value) {
		if c < ' ' || c > '~' {
			return Errorf(InvalidArgument, "metadata field %.80s: the value has the byte %#x: end the name in -bin for values that are not printable ASCII", f.Name, c)
		}
	}
	return nil
}

// BinarySuffix ends the names of fields whose values are any bytes.
const BinarySuffix = "-bin"

// Check returns an error with the code InvalidArgument if f may not be sent: it is not valid, or its name is reserved, so that not every protocol
// could carry it.
func (f *Field) Check() error {
	if err := f.Valid(); err != nil {
		return err
	}
	if Reserved(f.Name) {
		return Errorf(InvalidArgument, "metadata field %.80s: this name is reserved for HTTP and the protocols of calls: choose another one", f.Name)
	}
	return nil
}

// Metadata is what accompanies a call beside its messages, in order. A name may occur more than once. nil is empty.
type Metadata []Field

// Check returns the error of the first field that may not be sent.
func (m Metadata) Check() error {
	for i := range m {
		if err := m[i].Check(); err != nil {
			return err
		}
	}
	return nil
}

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

// OfHTTP reports whether name, in lower case, is a header field of HTTP itself. It means something between two neighbours, such as a proxy and a server, so it is not
// passed on with a call, although some protocols show it as metadata.
// RFC 9110, sections 6 to 12.
func OfHTTP(name string) bool {
	switch name {
	case "accept", "accept-encoding", "connection", "content-encoding", "content-length", "content-type", "date", "expect", "host", "keep-alive",
		"proxy-connection", "te", "trailer", "transfer-encoding", "upgrade", "user-agent":
		return true
	}
	return false
}

// Reserved reports whether name, in lower case, is of HTTP itself or of a protocol of calls, so that it is no name of metadata.
func Reserved(name string) bool {
	for _, prefix := range []string{"grpc-", "ferry-", "connect-", "trailer-"} {
		if strings.HasPrefix(name, prefix) {
			return name != "grpc-trace-bin" && name != "grpc-tags-bin" // the context of OpenCensus, which applications pass on
		}
	}
	return OfHTTP(name)
}
