package route

import (
	"math/bits"
	"regexp"
	"time"

	"example.com/ferry/internal/balance"
	"example.com/ferry/protocol/http1"
)

// DefaultTimeout is the value that replaces a zero Forward.Timeout.
const DefaultTimeout = 15 * time.Second

// Budget limits retries to a fraction of the requests. A nil Budget allows no retry.
type Budget = balance.Budget

// Route is a compiled Rule, the result of Match. Many goroutines may use it.
type Route struct {
	Rule         // the configuration, with defaults for Name, Forward.Timeout, Retry.Attempts and Redirect.Status
	At    string // path of the rule in the configuration: virtual_hosts[0].routes[2]
	Index int    // index in Table.Routes

	RequestEdits  *http1.Edits
	ResponseEdits *http1.Edits
	Bucket        *Bucket // rate limit; nil if RateLimit is not set
	Budget        *Budget // retry budget; nil if Forward.Retry is not set

	conditions conditions
	clusters   []weightedCluster
	rewrite    *regexp.Regexp
	retryOn    retryCauses
}

// weightedCluster is a cluster and the sum of its own weight and all weights before it.
type weightedCluster struct {
	cluster   int
	weightSum uint64
}

// Forwards reports whether the route forwards requests to a cluster.
func (r *Route) Forwards() bool { return r.clusters != nil }

// Pick returns the index in Table.Clusters of the cluster for a request. It returns -1 if the route does not forward.
// random is 64 random bits; equal bits select the same cluster.
func (r *Route) Pick(random uint64) int {
	if !r.Forwards() {
		return -1
	}
	at, _ := bits.Mul64(random, r.clusters[len(r.clusters)-1].weightSum)
	i := 0
	for r.clusters[i].weightSum <= at {
		i++
	}
	return r.clusters[i].cluster
}

// Rewrite returns the change to the path of a request: with replaces the first strip bytes, as in http1.RequestEdit.
// The route must match path. Only a Rewrite.Regex allocates.
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
		return r.replacedLen(path, c.Prefix), c.Prefix
	}
	return 0, ""
}

// replacedLen returns the number of path bytes that prefix with replaces: the part that the route's condition
// matches. If with ends with a slash, the slash after that part is replaced too.
func (r *Route) replacedLen(path []byte, with string) int {
	n := len(r.conditions.path.text)
	if r.conditions.path.match == segmentPath && n < len(path) && with[len(with)-1] == '/' {
		n++
	}
	return n
}
