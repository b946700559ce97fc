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
// now, are not valid yet, or expire within 14 days. file is the name that the warnings use.
func Warnings(file string, data []byte, now time.Time) []*Error {
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil
	}
	w := warner{doc: newDocument(file, data), now: now}
	w.doc.root = body(tree)
	w.walk(w.doc.root, nil)
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
