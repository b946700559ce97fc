package discovery_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/internal/discovery"
)

// patience bounds what a test waits for.
const patience = 30 * time.Second

// address returns the source of an address.
func address(t *testing.T, s string, weight int, o *discovery.Options) discovery.Source {
	t.Helper()
	src, err := discovery.Address(s, weight, o)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// next calls Next and returns the endpoints as text.
func next(t *testing.T, src discovery.Source) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	list, err := src.Next(ctx)
	if ctx.Err() != nil {
		t.Fatalf("%s: no change within %v", src, patience)
	}
	return text(list), err
}

func text(list []discovery.Endpoint) string {
	all := make([]string, len(list))
	for i, e := range list {
		all[i] = fmt.Sprintf("%s %s %d/%d", e.Addr, e.Name, e.Priority, e.Weight)
	}
	return strings.Join(all, ", ")
}

// want fails the test unless the next endpoints are these.
func want(t *testing.T, src discovery.Source, endpoints ...string) {
	t.Helper()
	got, err := next(t, src)
	if err != nil || got != strings.Join(endpoints, ", ") {
		t.Fatalf("%s:\ngot  %s, %v\nwant %s", src, got, err, strings.Join(endpoints, ", "))
	}
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for in, out := range map[string]string{
		"192.0.2.1:80":       "192.0.2.1:80  0/7",
		"[2001:db8::1]:80":   "[2001:db8::1]:80  0/7",
		"unix:/run/web.sock": "unix:/run/web.sock  0/7",
	} {
		want(t, address(t, in, 7, nil), out)
	}
	for _, in := range []string{"", "a", "a:0", "a:http", "a:65536", "-a:80", "192.0.2.300:80", "unix:", "a..b:1", "::1:80"} {
		if src, err := discovery.Address(in, 1, nil); err == nil {
			t.Errorf("%q: got the source %s", in, src)
		}
	}
}

// TestStatic checks that a list is returned once, and that Next blocks until its context ends then.
func TestStatic(t *testing.T) {
	t.Parallel()
	src := discovery.Static(discovery.Endpoint{Addr: "192.0.2.1:80", Weight: 2}, discovery.Endpoint{Addr: "unix:/a", Weight: 1})
	want(t, src, "192.0.2.1:80  0/2", "unix:/a  0/1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if list, err := src.Next(ctx); list != nil || err == nil {
		t.Errorf("got %v, %v", list, err)
	}
	if got := src.String(); got != "192.0.2.1:80,unix:/a" {
		t.Errorf("the name is %q", got)
	}
}

// TestHost follows a name at a real name server, whose TTL is shorter than the interval.
func TestHost(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{false, true} {
		s := newNameserver(t)
		s.truncate = stream
		s.set("web.ferry.test.", ip(1, "192.0.2.2"), ip(60, "192.0.2.1"), ip(60, "2001:db8::1"))
		src := address(t, "web.ferry.test:80", 3, &discovery.Options{Interval: time.Hour, Resolver: s.resolver()})
		want(t, src, "192.0.2.1:80 web.ferry.test 0/3", "192.0.2.2:80 web.ferry.test 0/3", "[2001:db8::1]:80 web.ferry.test 0/3")
		s.set("web.ferry.test.", ip(1, "192.0.2.3"))
		want(t, src, "192.0.2.3:80 web.ferry.test 0/3")

		s.set("web.ferry.test.")
		if got, err := next(t, src); err == nil || got != "" {
			t.Errorf("a name without addresses: got %q, %v", got, err)
		}
		s.set("web.ferry.test.", ip(0, "192.0.2.3"))
		want(t, src, "192.0.2.3:80 web.ferry.test 0/3") // works again, though nothing has changed
		if (s.streams > 0) != stream {
			t.Errorf("%d queries over TCP; truncated over UDP: %v", s.streams, stream)
		}
	}
}

// fake is a Resolver with a TTL.
type fake struct {
	discovery.System
	ips  []string
	ttl  time.Duration
	at   []time.Time
	hang bool
}

func (f *fake) LookupIP(ctx context.Context, _ string) ([]netip.Addr, time.Duration, error) {
	f.at = append(f.at, time.Now())
	if f.hang {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	var ips []netip.Addr
	for _, s := range f.ips {
		ips = append(ips, netip.MustParseAddr(s))
	}
	return ips, f.ttl, nil
}

// TestLookupTimes checks when a name is looked up again.
func TestLookupTimes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		ips      []string
		ttl      time.Duration
		hang     bool
		interval time.Duration
		want     time.Duration
	}{
		{"by interval", []string{"192.0.2.1"}, 0, false, 10 * time.Second, 10 * time.Second},
		{"by the default interval", []string{"192.0.2.1"}, 0, false, 0, 30 * time.Second},
		{"by a shorter TTL", []string{"192.0.2.1"}, 5 * time.Second, false, 10 * time.Second, 5 * time.Second},
		{"by interval before the TTL", []string{"192.0.2.1"}, time.Hour, false, 10 * time.Second, 10 * time.Second},
		{"not within a second", []string{"192.0.2.1"}, time.Millisecond, false, 10 * time.Second, time.Second},
		{"a second after a failure", nil, 0, false, 10 * time.Second, time.Second},
		{"a second after a timeout of two", nil, 0, true, 10 * time.Second, 3 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &fake{ips: row.ips, ttl: row.ttl, hang: row.hang}
				src := address(t, "web.ferry.test:80", 1, &discovery.Options{Interval: row.interval, Resolver: f})
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
				defer cancel()
				for ctx.Err() == nil {
					src.Next(ctx)
				}
				for i := range len(f.at) - 1 {
					if got := f.at[i+1].Sub(f.at[i]); got != row.want {
						t.Fatalf("lookups %v after each other, want %v", got, row.want)
					}
				}
				if len(f.at) < 3 {
					t.Errorf("%d lookups", len(f.at))
				}
			})
		})
	}
}

// TestCanceledLookup checks that a lookup that its caller cancels neither fails nor delays the next one.
func TestCanceledLookup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{ips: []string{"192.0.2.1"}, hang: true}
		src := address(t, "web.ferry.test:80", 1, &discovery.Options{Resolver: f})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if list, err := src.Next(ctx); list != nil || err == nil {
			t.Errorf("got %v, %v", list, err)
		}
		f.hang = false
		began := time.Now()
		want(t, src, "192.0.2.1:80 web.ferry.test 0/1")
		if took := time.Since(began); took != 0 {
			t.Errorf("the next lookup came after %v", took)
		}
	})
}

func TestSRV(t *testing.T) {
	t.Parallel()
	s := newNameserver(t)
	const name = "_web._tcp.api.ferry.test"
	s.set(name+".", srv(20, 5, 8081, "b.ferry.test."), srv(10, 0, 8080, "a.ferry.test."), srv(10, 60000, 9090, "b.ferry.test."))
	s.set("a.ferry.test.", ip(1, "192.0.2.1"), ip(1, "2001:db8::1"))
	s.set("b.ferry.test.", ip(1, "192.0.2.2"))
	src := discovery.SRV(name, &discovery.Options{Interval: time.Hour, Resolver: s.resolver()})
	a := []string{"192.0.2.1:8080 api.ferry.test 10/1", "[2001:db8::1]:8080 api.ferry.test 10/1"}
	b := []string{"192.0.2.2:9090 api.ferry.test 10/60000", "192.0.2.2:8081 api.ferry.test 20/5"}
	want(t, src, a[0], b[0], a[1], b[1])
	if n := s.count("b.ferry.test. TypeA"); n != 1 {
		t.Errorf("a host of two records was looked up %d times", n)
	}

	// One of the hosts cannot be looked up: its endpoints of before stay. A source that has never found them has the others.
	s.fail("a.ferry.test.")
	all := strings.Join([]string{a[0], b[0], a[1], b[1]}, ", ")
	if got, err := next(t, src); err == nil || !strings.Contains(err.Error(), "target a.ferry.test.") || got != all {
		t.Errorf("got %s, %v, want all", got, err)
	}
	fresh := discovery.SRV(name, &discovery.Options{Interval: time.Hour, Resolver: s.resolver()})
	if got, err := next(t, fresh); err == nil || !strings.Contains(err.Error(), "target a.ferry.test.") || got != strings.Join(b, ", ") {
		t.Errorf("a source without a lookup before: got %s, %v", got, err)
	}
	s.set("a.ferry.test.", ip(1, "192.0.2.3"))
	for got, err := next(t, src); ; got, err = next(t, src) {
		if err == nil {
			if expected := b[0] + ", 192.0.2.3:8080 api.ferry.test 10/1, " + b[1]; got != expected {
				t.Errorf("got  %s\nwant %s", got, expected)
			}
			break
		}
	}

	// No host can be looked up: all endpoints stay. Those of a record that is gone do not.
	s.fail("a.ferry.test.")
	s.fail("b.ferry.test.")
	stay := b[0] + ", 192.0.2.3:8080 api.ferry.test 10/1, " + b[1]
	for range 3 {
		if got, err := next(t, src); err == nil || got != stay {
			t.Errorf("got %s, %v, want %s", got, err, stay)
		}
	}
	s.set(name+".", srv(10, 0, 8080, "a.ferry.test."))
	for got, err := next(t, src); got == stay; got, err = next(t, src) {
		if err == nil {
			t.Fatalf("got %s without an error", got)
		}
	}
	if got, err := next(t, src); err == nil || got != "192.0.2.3:8080 api.ferry.test 10/1" {
		t.Errorf("got %s, %v, want the host of the record that is left", got, err)
	}

	// The service is not available: no endpoint stays.
	s.set(name+".", srv(0, 0, 0, "."))
	for {
		list, err := src.Next(t.Context())
		if err != nil {
			continue
		}
		if list == nil || len(list) > 0 {
			t.Errorf("got %#v, want an empty list", list)
		}
		break
	}
}

// TestSRVLimit checks that a response with too many records is refused.
func TestSRVLimit(t *testing.T) {
	t.Parallel()
	s := newNameserver(t)
	s.truncate = true
	records := make([]record, 1001)
	for i := range records {
		records[i] = srv(0, 0, uint16(i+1), "a.ferry.test.")
	}
	s.set("_many._tcp.ferry.test.", records...)
	s.set("a.ferry.test.", ip(1, "192.0.2.1"))
	src := discovery.SRV("_many._tcp.ferry.test", &discovery.Options{Resolver: s.resolver()})
	if _, err := next(t, src); err == nil || !strings.Contains(err.Error(), "1001 SRV records") {
		t.Errorf("got %v", err)
	}
	s.set("_many._tcp.ferry.test.", records[:1000]...)
	list, err := src.Next(t.Context())
	if err != nil || len(list) != 1000 {
		t.Errorf("got %d endpoints, %v", len(list), err)
	}
	if !slices.IsSortedFunc(list, func(a, b discovery.Endpoint) int { return strings.Compare(a.Addr, b.Addr) }) {
		t.Error("the endpoints are in no fixed order")
	}
}

// TestSystem uses the system's resolver.
func TestSystem(t *testing.T) {
	t.Parallel()
	got, err := next(t, address(t, "localhost:80", 1, nil))
	if err != nil || !strings.Contains(got, "127.0.0.1:80 localhost") && !strings.Contains(got, "[::1]:80 localhost") {
		t.Errorf("localhost is %q, %v", got, err)
	}
}
