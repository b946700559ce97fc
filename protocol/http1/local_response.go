package http1

import "fmt"

// Continue is the interim response that a client with Head.Expect waits for before it sends the body. RFC 9110, section
// 15.2.1.
const Continue = "HTTP/1.1 100 Continue\r\n\r\n"

// localResponse is an encoded response that the proxy itself creates.
type localResponse struct {
	head [2]string // bytes before the body: head[0] keeps the connection open, head[1] announces its close
	body string
}

var localResponses = func() map[int]localResponse {
	all := map[int]localResponse{}
	for status, reason := range map[int]string{
		400: "Bad Request",
		404: "Not Found",
		408: "Request Timeout",
		413: "Content Too Large",
		414: "URI Too Long",
		417: "Expectation Failed",
		421: "Misdirected Request",
		431: "Request Header Fields Too Large",
		500: "Internal Server Error",
		501: "Not Implemented",
		502: "Bad Gateway",
		503: "Service Unavailable",
		504: "Gateway Timeout",
		505: "HTTP Version Not Supported",
	} {
		a := localResponse{body: fmt.Sprintf("%d %s\n", status, reason)}
		for i, connection := range []string{"keep-alive", "close"} {
			a.head[i] = fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: %s\r\n\r\n",
				status, reason, len(a.body), connection)
		}
		all[status] = a
	}
	return all
}()

// AppendLocalResponse appends a small response that the proxy itself creates. requestMethod is the method of the request.
// status is 400, 404, 408, 413, 414, 417, 421, 431 or 500 to 505. Any other status becomes 500. closes adds Connection: close,
// which is required after an *Error.
func AppendLocalResponse(dst []byte, status int, requestMethod Method, closes bool) []byte {
	a, ok := localResponses[status]
	if !ok {
		a = localResponses[500]
	}
	head := a.head[0]
	if closes {
		head = a.head[1]
	}
	dst = append(dst, head...)
	if requestMethod == MethodHead {
		return dst
	}
	return append(dst, a.body...)
}
