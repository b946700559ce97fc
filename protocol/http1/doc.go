// Package http1 parses, checks and forwards HTTP/1.1 and HTTP/1.0 messages for a proxy, without a socket (RFC 9112).
//
// ParseRequest and ParseResponse find the parts of a head in its bytes and copy nothing. Body then finds the end of the
// message in the bytes that follow. AppendRequest and AppendResponse copy the head without the fields that are meant for one
// connection. A message that two parsers could interpret differently is refused: *Error has the status of the response.
//
//	n, err := http1.ParseRequest(buf, &head, nil)                    // n is 0 until the head is whole
//	out = http1.AppendRequest(out, buf, &head, &http1.RequestEdit{}) // the head, for the server behind
//	body := head.Body(nil)
//	m, err := body.Take(buf[n:])                                     // m bytes follow it unchanged
package http1

// Files: HTTP/1.1 and 1.0: ParseRequest and ParseResponse locate a head's parts (head_parse.go), Body finds the message's
// end (body.go, chunked.go), AppendRequest and AppendResponse send it on (forward_request.go, forward_response.go); what is
// refused is in protocol/httprule.
