// Package httprule says what the fields, hosts, paths, trailers and methods of HTTP may be, and which fields a proxy does not pass on. The
// encodings of HTTP/1.1 and HTTP/2 and the proxy use it, so a message has one verdict in every version. It owns no socket, no goroutine and no clock.
//
//	var r httprule.PathReader
//	paths, problem := r.Read([]byte("/a/../%61dmin%2fx"))
//	// First is "/admin%2fx", Second is "/admin/x", and problem is empty
package httprule

// Files: what fields, hosts, paths, trailers and methods of HTTP may be, and which fields are not passed on, once for both
// versions: field.go, path.go (the two readings of a path), host.go, chars.go.
