// Package http1 reads, judges and forwards HTTP/1.1 and HTTP/1.0 messages for a proxy, without a socket (RFC 9112).
//
// ParseRequest and ParseResponse locate a head's parts in the bytes it came in and copy nothing; Body then says of the bytes that
// follow how many belong to the message. AppendRequest and AppendResponse write the head as it came, less what is meant for
// one connection only. What two readers could understand differently is refused with an *Error that knows its answer.
//
//	n, err := http1.ParseRequest(buf, &head, nil)                    // n is 0 until the head is whole
//	out = http1.AppendRequest(out, buf, &head, &http1.RequestEdit{}) // the head, for the server behind
//	body := head.Body(nil)
//	m, err := body.Take(buf[n:])                                     // m bytes follow it unchanged
package http1
