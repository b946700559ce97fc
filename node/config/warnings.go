package config

import (
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"example.com/ferry/internal/certs"
)

// expirySoon is how long before its expiry Warnings reports a certificate.
const expirySoon = 14 * 24 * time.Hour

// certificateFields are the fields that name a file of certificates, in all sections.
var certificateFields = []string{"cert_file", "client_ca_file", "ca_file"}

// Warnings returns what a node with a valid configuration runs with, but its user should change: certificates that have expired at
// now, are not valid yet, or expire within 14 days, and streams that grow until the disk is full. file is the name that the
// warnings use.
func Warnings(file string, data []byte, now time.Time) []*Error {
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil
	}
	w := warner{doc: newDocument(file, data), now: now}
	w.doc.root = body(tree)
	w.walk(w.doc.root, nil)
	w.unboundedStreams()
	return w.list
}

// warner collects the warnings of a file.
type warner struct {
	doc  *document
	now  time.Time
	list []*Error
}

// walk looks at all fields below a node.
func (w *warner) walk(n ast.Node, path []string) {
	n = plain(n)
	if list, ok := n.(*ast.SequenceNode); ok {
		for i, each := range list.Values {
			w.walk(each, append(slices.Clone(path), strconv.Itoa(i)))
		}
		return
	}
	for _, kv := range pairs(n) {
		name := kv.Key.GetToken().Value
		at := append(slices.Clone(path), name)
		if value, ok := plain(kv.Value).(*ast.StringNode); ok && slices.Contains(certificateFields, name) {
			w.certificates(at, value.Value)
			continue
		}
		w.walk(kv.Value, at)
	}
}

// certificates warns about the certificates in a file. An error of the file is not a warning: Load has reported it.
func (w *warner) certificates(path []string, file string) {
	reasons, err := certs.TimeWarnings(file, w.now, expirySoon)
	if err != nil {
		return
	}
	for _, reason := range reasons {
		w.list = append(w.list, w.doc.errorAtValue(path, file+": "+reason))
	}
}

// unboundedStreams warns about streams that are delivered at least once and have no bound: a full disk stops their publishers.
func (w *warner) unboundedStreams() {
	streams, _ := lookup(w.doc.root, []string{"streams"})
	list, ok := streams.(*ast.SequenceNode)
	if !ok {
		return
	}
	for i, stream := range list.Values {
		delivery, ok := lookup(stream, []string{"delivery"})
		if !ok || delivery.GetToken().Value != string(AtLeastOnce) {
			continue
		}
		bounded := slices.ContainsFunc([]string{"age", "size", "messages"}, func(bound string) bool {
			_, ok := lookup(stream, []string{"retention", bound})
			return ok
		})
		if !bounded {
			w.list = append(w.list, w.doc.errorAtValue([]string{"streams", strconv.Itoa(i)},
				"no retention: the stream grows until the disk is full, and then its publishers wait; bound it, such as retention: {age: 168h, size: 1GiB}"))
		}
	}
}
