package config

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml/ast"

	"example.com/ferry/internal/certs"
	"example.com/ferry/internal/topic"
	"example.com/ferry/protocol/native"
)

// expirySoon is how long before its expiry Warnings reports a certificate.
const expirySoon = 14 * 24 * time.Hour

// certificateFields are the fields that name a file of certificates, in all sections.
var certificateFields = []string{"cert_file", "client_ca_file", "ca_file"}

// warner collects the warnings of a file.
type warner struct {
	source *Source
	now    time.Time
	within time.Duration // before its expiry, a certificate is reported
	list   []*Error
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
	reasons, err := certs.TimeWarnings(file, w.now, w.within)
	if err != nil {
		return
	}
	for _, reason := range reasons {
		w.list = append(w.list, w.source.errorAtValue(path, file+": "+reason))
	}
}

// unboundedStreams warns about streams that are delivered at least once and have no bound: a full disk stops their publishers.
func (w *warner) unboundedStreams() {
	streams, _, _ := w.source.lookup([]string{"streams"})
	list, ok := streams.(*ast.SequenceNode)
	if !ok {
		return
	}
	for i := range list.Values {
		at := func(path ...string) []string { return append([]string{"streams", strconv.Itoa(i)}, path...) }
		delivery, _, _ := w.source.lookup(at("delivery"))
		if text, ok := delivery.(*ast.StringNode); !ok || text.Value != string(AtLeastOnce) {
			continue
		}
		bounded := slices.ContainsFunc([]string{"age", "size", "messages"}, func(bound string) bool {
			_, _, ok := w.source.lookup(at("retention", bound))
			return ok
		})
		if !bounded {
			w.list = append(w.list, w.source.errorAtValue(at(),
				"no retention: the stream grows until the disk is full, and then its publishers wait; bound it, such as retention: {age: 168h, size: 1GiB}"))
		}
	}
}

// deployedCycles warns about deployed functions that may publish what they may observe, if both are listed.
func (w *warner) deployedCycles() {
	filters := func(field string) (all []string) {
		value, _, _ := w.source.lookup([]string{"deploy", field})
		list, _ := value.(*ast.SequenceNode)
		if list == nil {
			return nil
		}
		for _, each := range list.Values {
			if text, ok := plain(each).(*ast.StringNode); ok && topic.CheckFilter(text.Value) == nil {
				all = append(all, text.Value)
			}
		}
		return all
	}
	observed := filters("subscribe")
	for i, published := range filters("publish") {
		for _, filter := range observed {
			if topic.Overlap(published, filter) {
				w.list = append(w.list, w.source.errorAtValue([]string{"deploy", "publish", strconv.Itoa(i)},
					fmt.Sprintf("%q has tags of deploy.subscribe, %q: deployed functions may feed each other, and the node drops what has come through %d of them", published, filter, native.MaxFunctions)))
				break
			}
		}
	}
}
