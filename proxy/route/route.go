package route

import (
	"math/bits"
	"regexp"
	"time"
)

// DefaultTimeout is Forward.Timeout where that is zero.
const DefaultTimeout = 15 * time.Second

// Route is a compiled Rule. It is what Match finds, safe for use by many goroutines.
type Route struct {
	Rule         // as written, with Name, Forward.Timeout, Retry.Attempts and Redirect.Status filled in
	At    string // where it is written: virtual_hosts[0].routes[2]
	Index int    // in Table.Routes

	RequestEdits  *FieldEdits
	ResponseEdits *FieldEdits
	Bucket        *Bucket // of RateLimit; nil if that is
	Budget        *Budget // of Forward.Retry; nil if that is

	conditions conditions
	shares     []share
	rewrite    *regexp.Regexp
	causes     causes
}

// share is a cluster and the sum of the weights up to and with its own.
type share struct {
	cluster int
	upTo    uint64
}

// Forwards reports whether requests go to a cluster, rather than being answered by Redirect or Respond.
func (r *Route) Forwards() bool { return r.shares != nil }

// Pick returns which of Table.Clusters a request goes to, -1 if the route does not forward. All 64 bits of random are to be
// random; the same number gives the same cluster.
func (r *Route) Pick(random uint64) int {
	if !r.Forwards() {
		return -1
	}
	at, _ := bits.Mul64(random, r.shares[len(r.shares)-1].upTo)
	i := 0
	for r.shares[i].upTo <= at {
		i++
	}
	return r.shares[i].cluster
}

// Rewrite returns how the path of a request changes: its first strip bytes become with, as http1.RequestEdit takes it. It
// allocates for a Rewrite.Regex only. Path is one that the route matches.
func (r *Route) Rewrite(path []byte) (strip int, with string) {
	c := &r.Forward.Rewrite
	switch {
	case r.rewrite != nil:
		result := r.rewrite.ReplaceAll(path, []byte(c.Replacement))
		if len(result) == 0 || result[0] != '/' {
			return len(path), "/" + string(result)
		}
		return len(path), string(result)
	case c.Prefix != "":
		return r.strip(path, c.Prefix), c.Prefix
	}
	return 0, ""
}

// strip is how much of path a prefix takes the place of: what the route's condition on the path says, and a slash behind it
// if the prefix ends with one, as otherwise there would be two.
func (r *Route) strip(path []byte, with string) int {
	n := len(r.conditions.path.text)
	if r.conditions.path.how == segmentPath && n < len(path) && with[len(with)-1] == '/' {
		n++
	}
	return n
}
