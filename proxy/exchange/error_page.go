package exchange

import (
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/internal/regularfile"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy/upstream"
)

// ErrorPage replaces the body of error responses. Of a list, the first one counts that has the status and the cluster of the response. The status
// stays. gRPC responses have no pages.
type ErrorPage struct {
	// Statuses are those of the responses: 400 to 599.
	Statuses []int `yaml:"statuses" schema:"required"`

	// Clusters are those of the requests. Empty means all clusters, and requests without one, such as those that no route matches.
	Clusters []string `yaml:"clusters,omitempty"`

	// File has the page: at most 64 KiB. The end of its name says the content type: .html, .json, .txt or .xml. The proxy reads the file when it
	// reads the configuration.
	File string `yaml:"file" schema:"required"`

	// Intercept replaces the bodies of the servers' responses too. Without it, a page is for responses of the proxy's own.
	Intercept bool `yaml:"intercept,omitempty"`
}

// maxErrorPage bounds the file of an ErrorPage, in bytes. A page is queued as a whole for a client that does not read.
const maxErrorPage = 64 << 10

var pageTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".json": "application/json", ".txt": "text/plain; charset=utf-8", ".xml": "application/xml",
}

// ErrorPages are the pages of a listener.
type ErrorPages []*errorPage

// errorPage is an ErrorPage whose file was read.
type errorPage struct {
	*ErrorPage
	body   []byte
	text   string       // body
	fields []http1.Pair // its Content-Type
}

// ReadErrorPages reads the files of the pages of a listener. The error is that of invalid.Errors, with fields such as error_pages[0].file.
func ReadErrorPages(list []ErrorPage) (ErrorPages, error) {
	var pages ErrorPages
	var errs invalid.Errors
	for i := range list {
		c, at := &list[i], fmt.Sprintf("error_pages[%d].", i)
		if len(c.Statuses) == 0 {
			errs.Add("exchange", at+"statuses", "empty: name the statuses of the responses, such as 502")
		}
		for n, status := range c.Statuses {
			if status < 400 || status > 599 {
				errs.Add("exchange", fmt.Sprintf("%sstatuses[%d]", at, n), "%d: write 400 to 599", status)
			}
		}
		kind, known := pageTypes[strings.ToLower(filepath.Ext(c.File))]
		if !known {
			errs.Add("exchange", at+"file", "%q: the end of the name says the content type: .html, .json, .txt or .xml", c.File)
			continue
		}
		body, err := regularfile.Read(c.File, maxErrorPage)
		if err != nil {
			errs.Add("exchange", at+"file", "%v", err)
			continue
		}
		pages = append(pages, &errorPage{c, body, string(body), []http1.Pair{{Name: "Content-Type", Value: kind}}})
	}
	return pages, errs.Err()
}

// find returns the page of a response, or nil. cluster is that of the request, or nil. intercepted means that the response is a server's.
func (p ErrorPages) find(status int, cluster *upstream.Cluster, intercepted bool) *errorPage {
	for _, page := range p {
		if !slices.Contains(page.Statuses, status) || intercepted && !page.Intercept {
			continue
		}
		if len(page.Clusters) == 0 || cluster != nil && slices.Contains(page.Clusters, cluster.Config().Name) {
			return page
		}
	}
	return nil
}

// interceptedBy returns the page that replaces the body of a server's response, or nil.
func (r *Relay) interceptedBy(h ResponseHead) *errorPage {
	if len(r.Plan.ErrorPages) == 0 || r.GRPC {
		return nil
	}
	return r.Plan.ErrorPages.find(h.Status(), r.Cluster, true)
}

// sendPage sends a page instead of the body of a server's response. The body is read to its end if that comes soon: the connection to the server can
// then be used again. end means that there is none.
func (r *Relay) sendPage(h ResponseHead, page *errorPage, end bool) {
	r.replaced = true
	if !end {
		r.deadlines.set(tryDeadline, discardTime)
	}
	r.down.Response(&changedHead{ResponseHead: h, page: page}, end && r.headOnly)
	if !r.headOnly {
		r.down.ResponseData(page.body, end)
	}
}

const (
	maxDiscarded = 64 << 10               // bytes of a body that are discarded before its response is canceled
	discardTime  = 100 * time.Millisecond // the client waits so long at most for its next response on a connection of HTTP/1.1
)

// discard counts bytes of a body that a page replaces. Beyond maxDiscarded it pauses the server, and the response is canceled at once: the rest may be
// endless.
func (r *Relay) discard(n int) (pause bool) {
	if r.discarded += n; r.discarded > maxDiscarded {
		r.deadlines.set(tryDeadline, 0)
		return true
	}
	return false
}

// describesBody reports whether a field of a response says something about its body, which another body cannot keep.
func describesBody(name []byte) bool {
	switch string(bytes.ToLower(name)) {
	case "etag", "last-modified", "accept-ranges", "digest", "repr-digest", "trailer":
		return true
	}
	const prefix, policy = "content-", "content-security-policy" // which is about what the browser may load
	begins := func(with string) bool {
		return len(name) >= len(with) && bytes.EqualFold(name[:len(with)], []byte(with))
	}
	return begins(prefix) && !begins(policy)
}

// ErrorResponse returns the fields and the body of an error response of the proxy's own: a page, or the status and its reason phrase. The caller
// must not change them.
func (x *Exchange) ErrorResponse(status int) (fields []http1.Pair, body string) {
	fields, body = plainText, errorTexts[status]
	if page := x.Plan.ErrorPages.find(status, x.Cluster, false); page != nil {
		fields, body = page.fields, page.text
	}
	if own := x.ErrorFields(); own != nil {
		fields = append(own, fields...)
	}
	return fields, body
}

var plainText = []http1.Pair{{Name: "Content-Type", Value: "text/plain"}}

// errorTexts has the body of an error response without a page, by status.
var errorTexts = func() (all [600]string) {
	for status := range all {
		if text := StatusText(status); text != "" {
			all[status] = fmt.Sprintf("%d %s\n", status, text)
		}
	}
	return all
}()

// StatusText returns the reason phrase of RFC 9110, section 15. That of package net/http for 413 is older.
func StatusText(status int) string {
	if status == http.StatusRequestEntityTooLarge {
		return "Content Too Large"
	}
	return http.StatusText(status)
}
