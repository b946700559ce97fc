package target

import (
	"fmt"
	"strconv"
	"strings"

	"example.com/ferry/internal/balance"
	"example.com/ferry/protocol/http1"
)

// HTTPRequest is the request that each worker repeats.
type HTTPRequest struct {
	Method string      // empty means GET, and POST with a body
	Path   string      // with the query; empty means /
	Header [][2]string // names and values; Host replaces the address
	Body   []byte
	Expect int // the status of a response that is OK; 0 means 200 to 299
}

// methodName returns the method with its default.
func (r *HTTPRequest) methodName() string {
	switch {
	case r.Method != "":
		return r.Method
	case len(r.Body) > 0:
		return "POST"
	}
	return "GET"
}

func (r *HTTPRequest) path() string {
	if r.Path == "" {
		return "/"
	}
	return r.Path
}

// check parses the request as a server will, and returns its method.
func (r *HTTPRequest) check() (http1.Method, error) {
	var head http1.Head
	data := r.appendHTTP1(nil, "localhost")
	switch n, err := http1.ParseRequest(data, &head, nil); {
	case err != nil:
		return 0, fmt.Errorf("the request is not valid: %w", err)
	case len(data)-n != len(r.Body):
		return 0, fmt.Errorf("the request is not valid: the header of %s %s contains an empty line", r.methodName(), r.path())
	case head.Upgrade || r.methodName() == "CONNECT":
		return 0, fmt.Errorf("the request is not valid: %s %s asks for another protocol", r.methodName(), r.path())
	}
	return head.Method, nil
}

// appendHTTP1 appends the request as HTTP/1.1. RFC 9112.
func (r *HTTPRequest) appendHTTP1(dst []byte, addr string) []byte {
	dst = fmt.Appendf(dst, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.methodName(), r.path(), r.authority(addr))
	named := map[string]bool{}
	for _, f := range r.Header {
		if name := strings.ToLower(f[0]); name != "host" {
			named[name] = true
			dst = fmt.Appendf(dst, "%s: %s\r\n", f[0], f[1])
		}
	}
	if !named["user-agent"] {
		dst = append(dst, "User-Agent: ferry-load\r\n"...)
	}
	if (len(r.Body) > 0 || r.methodName() == "POST" || r.methodName() == "PUT") && !named["content-length"] {
		dst = append(strconv.AppendInt(append(dst, "Content-Length: "...), int64(len(r.Body)), 10), "\r\n"...)
	}
	return append(append(dst, "\r\n"...), r.Body...)
}

// authority returns the value of Host.
func (r *HTTPRequest) authority(addr string) string {
	for _, f := range r.Header {
		if strings.EqualFold(f[0], "Host") {
			return f[1]
		}
	}
	return addr
}

// checkStatus returns the *load.Failure of a response whose status is not the expected one.
func (r *HTTPRequest) checkStatus(status int) error {
	if status == r.Expect || r.Expect == 0 && status >= 200 && status < 300 {
		return nil
	}
	want := "2xx"
	if r.Expect != 0 {
		want = strconv.Itoa(r.Expect)
	}
	return unexpected(fmt.Sprintf("status %d", status), balance.OfStatus(status, nil), fmt.Errorf("want %s of %s %s", want, r.methodName(), r.path()))
}
