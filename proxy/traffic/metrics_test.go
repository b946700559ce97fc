package traffic_test

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"example.com/ferry/protocol/bolt"
	"example.com/ferry/protocol/http2"
	"example.com/ferry/proxy/traffic"
)

// closed returns the RefusedConnections of a listener.
func closed(connections, address, shed uint64) map[traffic.ConnRefusal]uint64 {
	return map[traffic.ConnRefusal]uint64{
		traffic.ConnectionLimit: connections, traffic.AddressLimit: address, traffic.ConnectionShed: shed,
	}
}

// abused returns the Abused of a listener.
func abused(pings uint64) map[http2.Abuse]uint64 {
	all := map[http2.Abuse]uint64{}
	for how := http2.AbuseResets; how <= http2.AbuseUnread; how++ {
		all[how] = 0
	}
	all[http2.AbusePings] = pings
	return all
}

func TestSnapshotAddsUpTheLoops(t *testing.T) {
	t.Parallel()
	metrics := traffic.NewMetrics(3)
	b, a := metrics.Listener("b"), metrics.Listener("a")
	a.Opened(0)
	a.Opened(2)
	a.Closed(0)
	a.Refused(1, traffic.NoRoute)
	a.Refused(2, traffic.NoRoute)
	a.Refused(0, traffic.Overload)
	a.ConnectionRefused(0, traffic.AddressLimit)
	a.ConnectionRefused(2, traffic.AddressLimit)
	a.Abused(1, http2.AbusePings)
	b.Opened(1)
	users := metrics.Route("b", "users")
	users.Done(0, traffic.HTTP(200), 3*time.Millisecond, 100, 1000)
	users.Done(2, traffic.HTTP(204), 7*time.Millisecond, 10, 20)
	users.Done(1, traffic.Bolt(bolt.StatusTimeout), 2*time.Minute, 1, 0)
	users.Retried(1)
	users.Retried(2)
	metrics.Route("a", "users")
	metrics.Route("b", "items")

	got := metrics.Snapshot()
	none := map[traffic.Refusal]uint64{traffic.BadRequest: 0, traffic.NoRoute: 0, traffic.RateLimited: 0, traffic.NoEndpoint: 0, traffic.Overload: 0, traffic.ClientRateLimited: 0, traffic.Shed: 0, traffic.SlowClient: 0, traffic.TooLong: 0}
	some := maps.Clone(none)
	some[traffic.NoRoute], some[traffic.Overload] = 2, 1
	want := []traffic.ListenerStats{
		{Name: "a", Connections: 1, Accepted: 2, Refused: some, RefusedConnections: closed(0, 2, 0), Abused: abused(1)},
		{Name: "b", Connections: 1, Accepted: 1, Refused: none, RefusedConnections: closed(0, 0, 0), Abused: abused(0)},
	}
	if !reflect.DeepEqual(got.Listeners, want) {
		t.Errorf("listeners: got\n%+v, want\n%+v", got.Listeners, want)
	}
	var names []string
	for _, r := range got.Routes {
		names = append(names, r.Listener+"/"+r.Name)
	}
	if want := []string{"a/users", "b/items", "b/users"}; !slices.Equal(names, want) {
		t.Fatalf("routes %q, want %q", names, want)
	}
	r := got.Routes[2]
	if want := map[traffic.Code]uint64{traffic.HTTP(200): 2, traffic.Bolt(bolt.StatusTimeout): 1}; !maps.Equal(r.Requests, want) {
		t.Errorf("requests %v, want %v", r.Requests, want)
	}
	if r.In != 111 || r.Out != 1020 || r.Retries != 2 {
		t.Errorf("%d bytes in, %d out, %d retries; want 111, 1020, 2", r.In, r.Out, r.Retries)
	}
	if r.Took.Count != 3 || math.Abs(r.Took.Seconds-120.01) > 1e-9 {
		t.Errorf("%d requests took %v s, want 3, 120.01 s", r.Took.Count, r.Took.Seconds)
	}
	for _, bucket := range r.Took.Buckets {
		want := uint64(0)
		switch {
		case bucket.UpTo >= 7*time.Millisecond:
			want = 2
		case bucket.UpTo >= 3*time.Millisecond:
			want = 1
		}
		if bucket.Count != want {
			t.Errorf("%d requests took up to %v, want %d", bucket.Count, bucket.UpTo, want)
		}
	}
}

func TestNamesOutlastAReload(t *testing.T) {
	t.Parallel()
	metrics := traffic.NewMetrics(1)
	l, r := metrics.Listener("a"), metrics.Route("a", "b")
	if metrics.Listener("a") != l || metrics.Route("a", "b") != r {
		t.Error("a name has got other counters the second time")
	}
	if metrics.Route("a", "c") == r || metrics.Route("c", "b") == r {
		t.Error("two names share their counters")
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	metrics := traffic.NewMetrics(1)
	for _, name := range []string{"kept", "gone"} {
		metrics.Listener(name).Opened(0)
		metrics.Route("kept", name).Done(0, traffic.HTTP(200), 0, 1, 1)
	}
	gone := metrics.Route("kept", "gone")
	metrics.Keep([]*traffic.Listener{metrics.Listener("kept")}, []*traffic.Route{metrics.Route("kept", "kept")})
	gone.Done(0, traffic.HTTP(200), 0, 1, 1) // a request that began before Keep

	s := metrics.Snapshot()
	if len(s.Listeners) != 1 || s.Listeners[0].Name != "kept" || s.Listeners[0].Accepted != 1 {
		t.Errorf("listeners %+v, want kept as it was", s.Listeners)
	}
	if len(s.Routes) != 1 || s.Routes[0].Name != "kept" || s.Routes[0].In != 1 {
		t.Errorf("routes %+v, want kept as it was", s.Routes)
	}
	metrics.Route("kept", "gone")
	if s := metrics.Snapshot(); len(s.Routes) != 2 || len(s.Routes[0].Requests) != 0 {
		t.Errorf("routes %+v, want gone back, at zero", s.Routes)
	}
}

// TestTotalsNeverGoDown takes snapshots while loops count requests.
func TestTotalsNeverGoDown(t *testing.T) {
	t.Parallel()
	const loops, each = 4, 5000
	metrics := traffic.NewMetrics(loops)
	l, r := metrics.Listener("a"), metrics.Route("a", "b")
	var counting sync.WaitGroup
	for i := range loops {
		counting.Go(func() {
			for n := range each {
				l.Opened(i)
				r.Done(i, traffic.HTTP(200+n%2*300), time.Millisecond, 2, 3)
				l.Closed(i)
			}
		})
	}
	var before traffic.Snapshot
	check := func() {
		now := metrics.Snapshot()
		if open := now.Listeners[0].Connections; open < 0 { // it may exceed loops: connections open and close between the two loads
			t.Errorf("%d connections open", open)
		}
		route := now.Routes[0]
		if sum := route.Requests[traffic.HTTP(200)] + route.Requests[traffic.HTTP(500)]; sum != route.Took.Count || route.In != 2*sum || route.Out != 3*sum {
			t.Errorf("a request was seen half counted: %d answered, %d timed, %d bytes in, %d out", sum, route.Took.Count, route.In, route.Out)
		}
		if before.Routes != nil && (route.Took.Count < before.Routes[0].Took.Count || now.Listeners[0].Accepted < before.Listeners[0].Accepted) {
			t.Errorf("totals went down: from %+v to %+v", before, now)
		}
		before = now
	}
	for range 200 {
		check()
	}
	counting.Wait()
	check()
	if n := before.Routes[0].Took.Count; n != loops*each {
		t.Errorf("%d requests, want %d", n, loops*each)
	}
	if n := before.Listeners[0]; n.Accepted != loops*each || n.Connections != 0 {
		t.Errorf("%+v, want %d accepted, none open", n, loops*each)
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	metrics := traffic.NewMetrics(1)
	l, r := metrics.Listener("a"), metrics.Route("a", "b")
	if n := testing.AllocsPerRun(1000, func() {
		l.Opened(0)
		l.Refused(0, traffic.NoRoute)
		r.Done(0, traffic.HTTP(200), time.Millisecond, 1, 1)
		r.Retried(0)
		l.Closed(0)
	}); n != 0 {
		t.Errorf("%v allocations a request, want 0", n)
	}
}
