package exchange

import (
	"net/http"
	"strconv"
	"time"

	"example.com/ferry/protocol/http1"
)

// SetMaxForwards counts this proxy in the Max-Forwards of an OPTIONS or TRACE request. ends means that the request may go no further: the proxy
// responds as its final recipient, with status and fields. RFC 9110, section 7.6.2.
func (c *Changes) SetMaxForwards(h RequestHead) (ends bool, status int, fields []http1.Pair) {
	method := string(h.Method())
	if method != http.MethodOptions && method != http.MethodTrace {
		return false, 0, nil
	}
	n, err := strconv.ParseUint(string(h.Get("max-forwards")), 10, 32)
	switch {
	case err != nil: // none, or no number, which the server judges
		return false, 0, nil
	case n > 0:
		c.MaxForwards = strconv.FormatUint(n-1, 10)
		return false, 0, nil
	case method == http.MethodTrace: // a response would repeat the client's credentials
		return true, http.StatusMethodNotAllowed, allow
	}
	return true, http.StatusOK, allow
}

var allow = []http1.Pair{{Name: "Allow", Value: "GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH"}}

// Clock has the time as the field Date writes it. A loop has one.
type Clock struct {
	at   time.Duration
	text string
}

// Date returns the field Date of a response whose server has sent none, RFC 9110, section 6.6.1; empty if p adds none. now is loop.Now.
func (c *Clock) Date(p *Plan, now time.Duration) string {
	if !p.Dates {
		return ""
	}
	if c.text == "" || now-c.at >= time.Second {
		c.at, c.text = now, time.Now().UTC().Format(http.TimeFormat)
	}
	return c.text
}
