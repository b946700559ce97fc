// Package h1conn drives HTTP/1.1 over any net.Conn by goroutines: Serve is a server's end, Client a client's. Package http1 parses. Messages
// have their body as a whole: the package is for calls, not for streams.
//
// A server that wants no further request on an idle connection says goodbye: it sends 408 with Connection: close, ends its direction,
// and discards what still arrives. A client whose request crosses the goodbye reads it in the place of its response, and knows that the
// request was not handled (RFC 9110, section 15.5.9).
package h1conn

// Files: goroutines that drive HTTP/1.1 over any net.Conn, with whole messages: server.go is a server's connection, with its
// drain, client.go a client's, message.go reads heads and bodies.
