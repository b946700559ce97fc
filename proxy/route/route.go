package route

import (
	"math/bits"
	"regexp"
	"time"
)

// DefaultTimeout is Forward.Timeout where that is zero.
const DefaultTimeout = 15 * time.Second

// Route is a compiled Rule, the result of Match. It may be used by many goroutines.
type Route struct {
	Rule         // as configured, with the defaults of Name, Forward.Timeout, Retry.Attempts and Redirect.Status
	At    string // its path in the configuration: virtual_hosts[0].routes[2]
	Index int    // in Table.Routes

	RequestEdits  *FieldEdits
	ResponseEdits *FieldEdits
	Bucket        *Bucket // of RateLimit; nil without one
	Budget        *Budget // of Forward.Retry; nil without one

	conditions conditions
	clusters   []weightedCluster
	rewrite    *regexp.Regexp
	retryOn    retryCauses
}

// weightedCluster is a cluster and the sum of the weights up to and including its own.
type weightedCluster struct {
	cluster   int
	weightSum uint64
}

// Forwards reports whether requests go to a cluster rather than to Redirect or Respond.
func (r *Route) Forwards() bool { return r.clusters != nil }

// Pick returns the index in Table.Clusters of the cluster for a request, -1 if the route does not forward. random is 64 random
// bits; equal bits give the same cluster.
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

// Rewrite returns how the path of a request changes: with replaces its first strip bytes, as in http1.RequestEdit. The route
// matches path. Only a Rewrite.Regex allocates.
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

// replacedLen returns how many bytes of path a prefix replaces: the part that the route's condition matches, and the slash behind it
// if the prefix ends with a slash.
func (r *Route) replacedLen(path []byte, with string) int {
	n := len(r.conditions.path.text)
	if r.conditions.path.match == segmentPath && n < len(path) && with[len(with)-1] == '/' {
		n++
	}
	return n
}
