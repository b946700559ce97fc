package route

import (
	"math"
	"regexp"
	"slices"
	"strings"

	"example.com/ferry/protocol/http1"
)

const maxWeight = 1_000_000

// route compiles a Rule.
func (b *builder) route(at place, c *Rule) *Route {
	r := &Route{Rule: *c, At: string(at)}
	if r.Name == "" {
		r.Name = string(at)
	}
	r.conditions = b.conditions(at.dot("match"), &c.Match)
	given := 0
	for _, is := range []bool{c.Cluster != "", len(c.Clusters) > 0, c.Redirect != nil, c.Respond != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		b.add(at, "%d of cluster, clusters, redirect and respond: a route has one of them", given)
	}
	b.shares(at, r)
	b.answers(at, r)
	b.forward(at.dot("forward"), r)
	if l := c.RateLimit; l != nil {
		at := at.dot("rate_limit")
		switch rate := l.RequestsPerSecond; {
		case !(rate >= 0.001 && rate <= 1e6): // not a number is not either
			b.add(at.dot("requests_per_second"), "%v: write 0.001 to 1000000", rate)
		case l.Burst < 0 || l.Burst > 1e6:
			b.add(at.dot("burst"), "%d: write 1 to 1000000, or 0 for what passes in one second", l.Burst)
		case l.Burst == 0:
			r.Bucket = newBucket(rate, max(1, int(rate)))
		default:
			r.Bucket = newBucket(rate, l.Burst)
		}
	}
	return r
}

func (b *builder) shares(at place, r *Route) {
	if r.Cluster != "" {
		r.shares = []share{{b.cluster(at.dot("cluster"), r.Cluster), 1}}
		return
	}
	var sum uint64
	for i, w := range r.Clusters {
		at := at.dot("clusters").index(i)
		cluster := b.cluster(at.dot("cluster"), w.Cluster)
		if w.Weight < 0 || w.Weight > maxWeight {
			b.add(at.dot("weight"), "%d: write 0 to %d", w.Weight, maxWeight)
			continue
		}
		sum += uint64(w.Weight)
		r.shares = append(r.shares, share{cluster, sum})
	}
	if len(r.Clusters) > 0 && sum == 0 {
		b.add(at.dot("clusters"), "weights sum to 0: give one of them more")
	}
}

// answers checks what the proxy says itself.
func (b *builder) answers(at place, r *Route) {
	if c := r.Redirect; c != nil {
		at, filled := at.dot("redirect"), *c
		if r.Redirect = &filled; c.Status == 0 {
			filled.Status = 301
		}
		if !slices.Contains([]int{301, 302, 303, 307, 308}, filled.Status) {
			b.add(at.dot("status"), "%d: write 301, 302, 303, 307 or 308", c.Status)
		}
		if c.Scheme != "" && c.Scheme != "http" && c.Scheme != "https" {
			b.add(at.dot("scheme"), "%q: write http or https", c.Scheme)
		}
		if *c == (Redirect{Status: c.Status}) {
			b.add(at, "leads to the request's own place: give scheme, host, path, prefix or strip_query")
		}
		if c.Path != "" && c.Prefix != "" {
			b.add(at.dot("prefix"), "%q stands beside path: give one of them", c.Prefix)
		}
		b.host(at.dot("host"), c.Host)
		b.prefix(at.dot("path"), c.Path)
		b.prefix(at.dot("prefix"), c.Prefix)
		b.replaces(at.dot("prefix"), c.Prefix, r)
	}
	if c := r.Respond; c != nil {
		at := at.dot("respond")
		if c.Status < 200 || c.Status > 599 {
			b.add(at.dot("status"), "%d: write 200 to 599", c.Status)
		}
		b.edits(at.dot("headers"), Edits{Add: c.Headers})
	}
}

func (b *builder) forward(at place, r *Route) {
	c := &r.Forward
	r.RequestEdits = b.edits(at.dot("request"), c.Request)
	r.ResponseEdits = b.edits(at.dot("response"), c.Response)
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	b.errs.AddDuration("route", string(at.dot("timeout")), c.Timeout)
	rewrite, w := at.dot("rewrite"), &c.Rewrite
	b.host(rewrite.dot("host"), w.Host)
	b.prefix(rewrite.dot("prefix"), w.Prefix)
	b.replaces(rewrite.dot("prefix"), w.Prefix, r)
	switch {
	case w.Regex == "" && w.Replacement != "":
		b.add(rewrite.dot("replacement"), "%q replaces nothing: give regex too", w.Replacement)
	case w.Regex != "" && w.Prefix != "":
		b.add(rewrite.dot("regex"), "%q stands beside prefix: give one of them", w.Regex)
	case w.Regex != "":
		var err error
		if r.rewrite, err = regexp.Compile(w.Regex); err != nil {
			b.add(rewrite.dot("regex"), "%v", err)
		}
		b.prefix(rewrite.dot("replacement"), "/"+w.Replacement)
	}
	if c.Retry != nil {
		b.retry(at.dot("retry"), r)
	}
}

func (b *builder) retry(at place, r *Route) {
	c := *r.Forward.Retry
	r.Forward.Retry = &c
	for i, cause := range c.On {
		switch cause {
		case OnConnectFailure, OnReset, OnTimeout:
			r.causes.failures = append(r.causes.failures, cause)
		case On5xx:
			for status := 500; status < 600; status++ {
				r.causes.add(status)
			}
		case OnGatewayError:
			for status := 502; status <= 504; status++ {
				r.causes.add(status)
			}
		default:
			b.add(at.dot("on").index(i), "%q: write connect-failure, reset, timeout, 5xx or gateway-error", cause)
		}
	}
	for i, status := range c.Statuses {
		if status < 200 || status > 599 {
			b.add(at.dot("statuses").index(i), "%d: write 200 to 599", status)
			continue
		}
		r.causes.add(status)
	}
	if len(c.On)+len(c.Statuses) == 0 {
		b.add(at, "neither on nor statuses: say what to repeat")
	}
	if c.Attempts == 0 {
		c.Attempts = 2
	}
	if c.Attempts < 1 || c.Attempts > 100 {
		b.add(at.dot("attempts"), "%d: write 1 to 100, the first attempt included", c.Attempts)
	}
	if c.PerTryTimeout < 0 {
		b.add(at.dot("per_try_timeout"), "%v: write a time, or 0 for none", c.PerTryTimeout)
	}
	b.errs.AddDuration("route", string(at.dot("per_try_timeout")), c.PerTryTimeout)
	if g := c.Budget.Ratio; math.IsNaN(g) || g > 10 {
		b.add(at.dot("budget.ratio"), "%v: write up to 10", g)
	}
	if g := c.Budget.MinPerSecond; math.IsNaN(g) || g > 1e6 {
		b.add(at.dot("budget.min_per_second"), "%v: write up to 1000000", g)
	}
	r.Budget = newBudget(c.Budget)
}

func (b *builder) edits(at place, e Edits) *FieldEdits {
	if len(e.Set)+len(e.Add)+len(e.Remove) == 0 {
		return nil
	}
	edits, err := newFieldEdits(e)
	if err != nil {
		b.add(at, "%s", reason(err))
	}
	return edits
}

// host checks a host that is written into messages.
func (b *builder) host(at place, host string) {
	edit := http1.RequestEdit{Host: host}
	if err := edit.Validate(); err != nil {
		b.add(at, "%s", reason(err))
	}
}

// prefix checks a path, or its beginning, that is written into messages.
func (b *builder) prefix(at place, prefix string) {
	edit := http1.RequestEdit{Prefix: prefix}
	if err := edit.Validate(); err != nil {
		b.add(at, "%s", reason(err))
	}
}

// replaces checks that there is something for prefix to replace.
func (b *builder) replaces(at place, prefix string, r *Route) {
	if prefix != "" && !r.conditions.path.literal() {
		b.add(at, "%q replaces nothing: match a path, prefix or segment_prefix", prefix)
	}
}

// reason is what err says, without its package: the place says where it is.
func reason(err error) string { return strings.TrimPrefix(err.Error(), "http1: ") }
