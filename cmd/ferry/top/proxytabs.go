package top

import (
	"math"

	"example.com/ferry/node/admin"
)

func hasProxy(s *Sample) bool { return s.Proxy != nil }

func routesTab() tab {
	return tab{
		name: "Routes",
		columns: []column{
			{title: "ROUTE", left: true},
			{title: "REQUESTS"},
			{title: "FAILING"},
			{title: "P50", rank: 1},
			{title: "P99"},
			{title: "RETRIES", rank: 2},
			{title: "BYTES IN", rank: 4},
			{title: "BYTES OUT", rank: 3},
			{title: "LISTENER", left: true, rank: 5},
		},
		sortBy:  1,
		present: hasProxy,
		rows:    routeRows,
		summary: func(w *window) string {
			connections := 0
			for _, l := range proxyOf(w.now()).Listeners {
				connections += l.Connections
			}
			return plural(len(proxyOf(w.now()).Listeners), "listener") + ", " + plural(connections, "connection") + ", latencies of the last 5 s"
		},
		empty: "No routes.",
	}
}

func routeRows(w *window) []row {
	old := index(proxyOf(w.before()).Routes, routeKey)
	var rows []row
	for _, r := range proxyOf(w.now()).Routes {
		was := old[routeKey(&r)]
		if was == nil || was.Took.Count > r.Took.Count {
			was = &admin.ProxyRoute{}
		}
		requests := r.Took.Count - was.Took.Count
		var failing figure
		if w.before() != nil && requests > 0 {
			failing = figure{100 * float64(r.Failed-min(r.Failed, was.Failed)) / float64(requests), true}
		}
		rows = append(rows, row{cells: []cell{
			text(r.Name, bold), number(w.rate(r.Took.Count, was.Took.Count), perSecond, plain), number(failing, percent, bad),
			number(quantile(w, was.Took, r.Took, 0.5), latency, plain), number(quantile(w, was.Took, r.Took, 0.99), latency, plain),
			number(w.rate(r.Retries, was.Retries), perSecond, warn), number(w.rate(r.In, was.In), sizePerSecond, plain),
			number(w.rate(r.Out, was.Out), sizePerSecond, plain), text(r.Listener, dim),
		}})
	}
	return rows
}

func routeKey(r *admin.ProxyRoute) string { return r.Listener + "\n" + r.Name }

// quantile returns a quantile of what a histogram has counted between two samples. It interpolates within a bucket; beyond the
// last bucket it is that bucket's bound. An older histogram that is not of the same counter counts as empty.
func quantile(w *window, old, now admin.Histogram, q float64) figure {
	if old.Count > now.Count || len(old.Buckets) != len(now.Buckets) {
		old = admin.Histogram{Buckets: make([]admin.Bucket, len(now.Buckets))}
	}
	total := now.Count - old.Count
	if w.before() == nil || total == 0 {
		return figure{}
	}
	rank := q * float64(total)
	var below, bound float64
	for i, b := range now.Buckets {
		n := float64(b.Count - min(b.Count, old.Buckets[i].Count))
		if n >= rank {
			return figure{bound + (b.UpTo-bound)*(rank-below)/math.Max(n-below, 1), true}
		}
		below, bound = n, b.UpTo
	}
	return figure{bound, true}
}

func endpointsTab() tab {
	return tab{
		name: "Endpoints",
		columns: []column{
			{title: "ENDPOINT", left: true},
			{title: "STATE", left: true},
			{title: "REQUESTS"},
			{title: "FAILED", rank: 1},
			{title: "ACTIVE"},
			{title: "CONNECTIONS", rank: 2},
			{title: "EJECTIONS", rank: 3},
			{title: "LAST ERROR", left: true, rank: 4},
		},
		present: hasProxy,
		rows:    clusterRows,
		summary: func(w *window) string {
			all, up := 0, 0
			for _, c := range proxyOf(w.now()).Clusters {
				for _, e := range c.Endpoints {
					all++
					if e.Healthy && e.EjectedFor == 0 && !e.Drained {
						up++
					}
				}
			}
			return plural(len(proxyOf(w.now()).Clusters), "cluster") + ", " + whole(float64(up)) + " of " + plural(all, "endpoint") + " up"
		},
		empty: "No clusters: the routes respond or redirect by themselves.",
	}
}

func clusterRows(w *window) []row {
	type counts = struct{ requests, failed uint64 }
	old := map[string]counts{}
	for _, c := range proxyOf(w.before()).Clusters {
		for _, e := range c.Endpoints {
			old[c.Name+"\n"+e.Address] = counts{attempts(e), uint64(e.Failed)}
		}
	}
	var rows []row
	for _, c := range proxyOf(w.now()).Clusters {
		r := row{}
		var sum, sumOld counts
		var connections, ejections int64
		up := 0
		for _, e := range c.Endpoints {
			was := old[c.Name+"\n"+e.Address]
			sum.requests, sum.failed = sum.requests+attempts(e), sum.failed+uint64(e.Failed)
			sumOld.requests, sumOld.failed = sumOld.requests+was.requests, sumOld.failed+was.failed
			connections, ejections = connections+e.Connections, ejections+e.Ejections
			state, how, failure := "up", good, e.LastError
			switch {
			case e.Drained:
				state, how = "drained", warn
			case !e.Healthy:
				state, how = "down", bad
			case e.EjectedFor > 0:
				state, how = "ejected, "+whole(math.Ceil(e.EjectedFor))+" s left", warn
			default:
				up++
				failure = ""
			}
			r.children = append(r.children, row{cells: []cell{
				text(e.Address, plain), text(state, how), number(w.rate(attempts(e), was.requests), perSecond, plain),
				number(w.rate(uint64(e.Failed), was.failed), perSecond, bad), number(known(e.Active), short, plain),
				number(known(e.Connections), short, plain), number(known(e.Ejections), short, warn),
				text(failure, plain),
			}})
		}
		state, how := whole(float64(up))+" of "+whole(float64(len(c.Endpoints)))+" up", good
		if up < len(c.Endpoints) || up == 0 {
			how = bad
		}
		if c.Waiting > 0 {
			state, how = state+", "+whole(float64(c.Waiting))+" waiting", warn
		}
		r.cells = []cell{
			text(c.Name, bold), text(state, how), number(w.rate(sum.requests, sumOld.requests), perSecond, plain), number(w.rate(sum.failed, sumOld.failed), perSecond, bad),
			number(known(c.Active), short, plain), number(known(connections), short, plain), number(known(ejections), short, warn),
			text("", plain),
		}
		rows = append(rows, r)
	}
	return rows
}

// attempts returns how many requests were sent to an endpoint.
func attempts(e admin.ProxyEndpoint) (n uint64) {
	for _, count := range e.Requests {
		n += uint64(count)
	}
	return n
}
