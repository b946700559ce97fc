package route

import (
	"regexp"
	"slices"
	"strings"

	"example.com/ferry/internal/balance"
	"example.com/ferry/protocol/http1"
)

const (
	maxWeight     = 1_000_000
	maxGRPCStatus = 16 // UNAUTHENTICATED
)

// compileRoute compiles a Rule. name is its path in the configuration, and at too, or empty.
func (b *builder) compileRoute(name string, at fieldPath, c *Rule) *Route {
	r := &Route{Rule: *c, At: name}
	if r.Name == "" {
		r.Name = name
	}
	if wrong := c.Path.Check(); wrong != "" {
		b.addError(at.dot("path"), "%s", wrong)
	}
	if c.Compression != nil {
		if field, wrong := c.Compression.Check(); wrong != "" {
			b.addError(at.dot("compression").dot(field), "%s", wrong)
		}
	}
	r.conditions = b.compileConditions(at.dot("match"), &c.Match)
	given := 0
	for _, is := range []bool{c.Cluster != "", len(c.Clusters) > 0, c.Redirect != nil, c.Respond != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		b.addError(at, "%d of cluster, clusters, redirect and respond are given: give one", given)
	}
	b.compileClusters(at, r)
	b.checkLocalResponses(at, r)
	b.compileForward(at.dot("forward"), r)
	if l := c.RateLimit; l != nil {
		at := at.dot("rate_limit")
		switch rate := l.RequestsPerSecond; {
		case !(rate >= 0.001 && rate <= 1e6): // written so that NaN is refused too
			b.addError(at.dot("requests_per_second"), "%v: write 0.001 to 1000000", rate)
		case l.Burst < 0 || l.Burst > 1e6:
			b.addError(at.dot("burst"), "%d: write 1 to 1000000, or 0 for requests_per_second", l.Burst)
		case l.Burst == 0:
			r.Bucket = newBucket(rate, max(1, int(rate)))
		default:
			r.Bucket = newBucket(rate, l.Burst)
		}
	}
	return r
}

func (b *builder) compileClusters(at fieldPath, r *Route) {
	if r.Cluster != "" {
		r.clusters = []weightedCluster{{b.clusterIndex(at.dot("cluster"), r.Cluster), 1}}
		return
	}
	var sum uint64
	for i, w := range r.Clusters {
		at := at.dot("clusters").index(i)
		cluster := b.clusterIndex(at.dot("cluster"), w.Cluster)
		if w.Weight < 0 || w.Weight > maxWeight {
			b.addError(at.dot("weight"), "%d: write 0 to %d", w.Weight, maxWeight)
			continue
		}
		sum += uint64(w.Weight)
		r.clusters = append(r.clusters, weightedCluster{cluster, sum})
	}
	if len(r.Clusters) > 0 && sum == 0 {
		b.addError(at.dot("clusters"), "weights sum to 0: give one of them more")
	}
}

// checkLocalResponses checks Redirect and Respond.
func (b *builder) checkLocalResponses(at fieldPath, r *Route) {
	if c := r.Redirect; c != nil {
		at, filled := at.dot("redirect"), *c
		if r.Redirect = &filled; c.Status == 0 {
			filled.Status = 301
		}
		if !slices.Contains([]int{301, 302, 303, 307, 308}, filled.Status) {
			b.addError(at.dot("status"), "%d: write 301, 302, 303, 307 or 308", c.Status)
		}
		if c.Scheme != "" && c.Scheme != "http" && c.Scheme != "https" {
			b.addError(at.dot("scheme"), "%q: write http or https", c.Scheme)
		}
		if *c == (Redirect{Status: c.Status}) {
			b.addError(at, "leads back to the request itself: give scheme, host, port, path, prefix or strip_query")
		}
		if c.Port < 0 || c.Port > 65535 {
			b.addError(at.dot("port"), "%d: write 1 to 65535", c.Port)
		} else if c.Port > 0 && len(trimPort([]byte(c.Host))) < len(c.Host) {
			b.addError(at.dot("port"), "%d is given together with the port of host %q: give one of them", c.Port, c.Host)
		}
		if c.Path != "" && c.Prefix != "" {
			b.addError(at.dot("prefix"), "%q is given together with path: give one of them", c.Prefix)
		}
		b.checkHost(at.dot("host"), c.Host)
		b.checkPrefix(at.dot("path"), c.Path)
		b.checkPrefix(at.dot("prefix"), c.Prefix)
		b.checkReplaces(at.dot("prefix"), c.Prefix, r)
	}
	if c := r.Respond; c != nil {
		at := at.dot("respond")
		if c.Status < 200 || c.Status > 599 {
			b.addError(at.dot("status"), "%d: write 200 to 599", c.Status)
		}
		b.compileEdits(at.dot("headers"), Edits{Add: c.Headers})
	}
}

func (b *builder) compileForward(at fieldPath, r *Route) {
	c := &r.Forward
	r.RequestEdits = b.compileEdits(at.dot("request"), c.Request)
	r.ResponseEdits = b.compileEdits(at.dot("response"), c.Response)
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	b.errs.AddDuration("route", string(at.dot("timeout")), c.Timeout)
	rewrite, w := at.dot("rewrite"), &c.Rewrite
	b.checkHost(rewrite.dot("host"), w.Host)
	b.checkPrefix(rewrite.dot("prefix"), w.Prefix)
	b.checkReplaces(rewrite.dot("prefix"), w.Prefix, r)
	switch {
	case w.Regex == "" && w.Replacement != "":
		b.addError(rewrite.dot("replacement"), "%q has no regex to replace: give regex too", w.Replacement)
	case w.Regex != "" && w.Prefix != "":
		b.addError(rewrite.dot("regex"), "%q is given together with prefix: give one of them", w.Regex)
	case w.Regex != "":
		var err error
		if r.rewrite, err = regexp.Compile(w.Regex); err != nil {
			b.addError(rewrite.dot("regex"), "%v", err)
		}
		b.checkPrefix(rewrite.dot("replacement"), "/"+w.Replacement)
	}
	if c.Retry != nil {
		b.compileRetry(at.dot("retry"), r)
	}
}

func (b *builder) compileRetry(at fieldPath, r *Route) {
	c := *r.Forward.Retry
	r.Forward.Retry = &c
	for i, cause := range c.On {
		switch cause {
		case OnConnectFailure, OnReset, OnRefusedStream, OnTimeout:
			r.retryOn.failures = append(r.retryOn.failures, cause)
		case On5xx:
			for status := 500; status < 600; status++ {
				r.retryOn.add(status)
			}
		case OnGatewayError:
			for status := 502; status <= 504; status++ {
				r.retryOn.add(status)
			}
		default:
			b.addError(at.dot("on").index(i), "%q: write connect-failure, reset, refused-stream, timeout, 5xx or gateway-error", cause)
		}
	}
	for i, status := range c.Statuses {
		if status < 200 || status > 599 {
			b.addError(at.dot("statuses").index(i), "%d: write 200 to 599", status)
			continue
		}
		r.retryOn.add(status)
	}
	for i, status := range c.GRPCStatuses {
		if status < 1 || status > maxGRPCStatus {
			b.addError(at.dot("grpc_statuses").index(i), "%d: write 1 to %d", status, maxGRPCStatus)
			continue
		}
		r.retryOn.grpcStatuses |= 1 << status
	}
	if c.On == nil && len(c.Statuses)+len(c.GRPCStatuses) == 0 {
		b.addError(at, "none of on, statuses and grpc_statuses is given: name the failures to retry, or write on: [] for none")
	}
	if c.Attempts == 0 {
		c.Attempts = 2
	}
	if c.Attempts < 1 || c.Attempts > 100 {
		b.addError(at.dot("attempts"), "%d: write 1 to 100, the first attempt included", c.Attempts)
	}
	if c.PerTryTimeout < 0 {
		b.addError(at.dot("per_try_timeout"), "%v: write a time, or 0 for none", c.PerTryTimeout)
	} else {
		b.errs.AddDuration("route", string(at.dot("per_try_timeout")), c.PerTryTimeout)
	}
	c.Budget.Check("route", string(at.dot("budget")), &b.errs)
	r.Budget = balance.NewBudget(c.Budget)
}

func (b *builder) compileEdits(at fieldPath, e Edits) *http1.Edits {
	if len(e.Set)+len(e.Add)+len(e.Remove) == 0 {
		return nil
	}
	edits, err := http1.NewEdits(e.Set, e.Add, e.Remove)
	if err != nil {
		b.addError(at, "%s", reason(err))
	}
	return edits
}

// checkHost checks a host that the proxy writes into requests.
func (b *builder) checkHost(at fieldPath, host string) {
	edit := http1.RequestEdit{Host: host}
	if err := edit.Validate(); err != nil {
		b.addError(at, "%s", reason(err))
	}
}

// checkPrefix checks a path or prefix that the proxy writes into requests.
func (b *builder) checkPrefix(at fieldPath, prefix string) {
	edit := http1.RequestEdit{Prefix: prefix}
	if err := edit.Validate(); err != nil {
		b.addError(at, "%s", reason(err))
	}
}

// checkReplaces checks that the route has a literal path that prefix can replace.
func (b *builder) checkReplaces(at fieldPath, prefix string, r *Route) {
	if prefix != "" && !r.conditions.path.hasLiteralPrefix() {
		b.addError(at, "%q has nothing to replace: match a path, prefix or segment_prefix", prefix)
	}
}

// reason returns the text of err without the package prefix.
func reason(err error) string { return strings.TrimPrefix(err.Error(), "http1: ") }
