package limit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// client is a Client made of texts.
type client struct {
	addr, identity string
	fields         map[string]string
}

func (c client) ClientAddr() string     { return c.addr }
func (c client) ClientIdentity() string { return c.identity }

func (c client) ClientField(name string) []byte {
	if v, ok := c.fields[name]; ok {
		return []byte(v)
	}
	return nil
}

// TestRateIsThatOfABucket compares the decisions about random clients with a token bucket for each.
func TestRateIsThatOfABucket(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rate, burst = 10, 5
	r := NewRate(&Config{RequestsPerSecond: rate, Burst: burst})
	type bucket struct {
		tokens float64
		at     time.Duration
	}
	buckets := map[string]*bucket{}
	now := time.Duration(0)
	for range 50_000 {
		now += time.Duration(rng.IntN(int(2 * time.Millisecond)))
		addr := fmt.Sprintf("192.0.2.%d", rng.IntN(40))
		b := buckets[addr]
		if b == nil {
			b = &bucket{burst, now}
			buckets[addr] = b
		}
		b.tokens = min(burst, b.tokens+rate*(now-b.at).Seconds())
		b.at = now
		wait, ok := r.Allow(client{addr: addr}, now)
		if math.Abs(b.tokens-1) < 1e-6 {
			continue // rounding decides
		}
		if want := b.tokens >= 1; ok != want {
			t.Fatalf("%s at %v: allowed is %v with %v tokens", addr, now, ok, b.tokens)
		}
		if ok {
			b.tokens--
			continue
		}
		if want := (1 - b.tokens) / rate; math.Abs(wait.Seconds()-want) > 1e-6 {
			t.Fatalf("%s at %v: wait %v, want %v s", addr, now, wait, want)
		}
		if _, ok := r.Allow(client{addr: addr}, now+wait); ok {
			b.tokens = 0
			b.at = now + wait
			now += wait
		} else {
			t.Fatalf("%s: no token after the wait of %v", addr, wait)
		}
	}
}

// TestRateKeys: which requests count for the same client.
func TestRateKeys(t *testing.T) {
	field := func(v string) map[string]string { return map[string]string{"x-key": v} }
	for _, row := range []struct {
		name, key string
		a, b      client
		same      bool
	}{
		{"same address", "", client{addr: "192.0.2.1"}, client{addr: "192.0.2.1"}, true},
		{"other address", KeyAddress, client{addr: "192.0.2.1"}, client{addr: "192.0.2.2"}, false},
		{"address, other identity", KeyAddress, client{addr: "192.0.2.1", identity: "a"}, client{addr: "192.0.2.1", identity: "b"}, true},
		{"same network", "", client{addr: "2001:db8::1"}, client{addr: "2001:db8::2"}, true},
		{"other network", "", client{addr: "2001:db8::1"}, client{addr: "2001:db8:0:1::1"}, false},
		{"without an address", "", client{}, client{}, true},
		{"same identity", KeyIdentity, client{addr: "192.0.2.1", identity: "a"}, client{addr: "192.0.2.2", identity: "a"}, true},
		{"other identity", KeyIdentity, client{addr: "192.0.2.1", identity: "a"}, client{addr: "192.0.2.1", identity: "b"}, false},
		{"no identity", KeyIdentity, client{addr: "192.0.2.1"}, client{addr: "192.0.2.1"}, true},
		{"no identity, other address", KeyIdentity, client{addr: "192.0.2.1"}, client{addr: "192.0.2.2"}, false},
		{"same field", "header:x-key", client{addr: "192.0.2.1", fields: field("a")}, client{addr: "192.0.2.2", fields: field("a")}, true},
		{"other field", "header:x-key", client{addr: "192.0.2.1", fields: field("a")}, client{addr: "192.0.2.1", fields: field("b")}, false},
		{"an empty field", "header:x-key", client{addr: "192.0.2.1", fields: field("")}, client{addr: "192.0.2.1"}, false},
		{"no field", "header:x-key", client{addr: "192.0.2.1"}, client{addr: "192.0.2.1"}, true},
		{"a field like an address", "header:x-key", client{addr: "192.0.2.1", fields: field("192.0.2.2")}, client{addr: "192.0.2.2"}, false},
		{"an identity like an address", KeyIdentity, client{identity: "192.0.2.2"}, client{addr: "192.0.2.2"}, false},
	} {
		r := NewRate(&Config{RequestsPerSecond: 1, Burst: 1, Key: row.key})
		if _, ok := r.Allow(row.a, time.Second); !ok {
			t.Errorf("%s: the first request is refused", row.name)
		}
		if _, ok := r.Allow(row.b, time.Second); ok == row.same {
			t.Errorf("%s: the second request is allowed: %v, want %v", row.name, ok, !row.same)
		}
	}
}

// TestRateHasBoundedMemory: a flood of invented clients neither grows the table nor helps a client at its limit.
func TestRateHasBoundedMemory(t *testing.T) {
	r := NewRate(&Config{RequestsPerSecond: 1, Burst: 10, Key: "header:k", MaxClients: 1000})
	if len(r.sets) != 125 {
		t.Fatalf("%d sets, want 125", len(r.sets))
	}
	now := time.Hour
	greedy := client{addr: "192.0.2.1"}
	for {
		if _, ok := r.Allow(greedy, now); !ok {
			break
		}
	}
	for i := range 100_000 {
		if _, ok := r.Allow(client{fields: map[string]string{"k": fmt.Sprint(i)}}, now); !ok {
			t.Fatalf("client %d is refused at its first request", i)
		}
	}
	if _, ok := r.Allow(greedy, now); ok {
		t.Error("the flood freed a client of its limit")
	}
}

func TestRateAllocatesNothing(t *testing.T) {
	for _, key := range []string{KeyAddress, KeyIdentity, "header:k"} {
		r := NewRate(&Config{RequestsPerSecond: 1, Key: key})
		c := &fixedClient{field: []byte("a")}
		if n := testing.AllocsPerRun(100, func() { r.Allow(c, time.Second) }); n != 0 {
			t.Errorf("%s: %v allocations", key, n)
		}
	}
}

// fixedClient is a Client that allocates nothing.
type fixedClient struct{ field []byte }

func (*fixedClient) ClientAddr() string          { return "2001:db8::1" }
func (*fixedClient) ClientIdentity() string      { return "a" }
func (c *fixedClient) ClientField(string) []byte { return c.field }

func TestCheck(t *testing.T) {
	for _, row := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"zero", Config{}, ""},
		{"none", Config{Connections: -1, ConnectionsPerAddress: -1, RequestsPerSecond: -1, MaxDuration: -1}, ""},
		{"all", Config{Connections: 1, ConnectionsPerAddress: 1, RequestsPerSecond: 0.5, Burst: 3, Key: "header:x", MaxClients: 9, MaxDuration: time.Hour}, ""},
		{"key", Config{RequestsPerSecond: 1, Key: "cookie"}, `limits: key: "cookie": write address, identity, or header: and a field's name`},
		{"header", Config{RequestsPerSecond: 1, Key: "header:"}, `limits: key: "header:": write the name of a header field after header:`},
		{"rate", Config{RequestsPerSecond: 1e-9}, "limits: requests_per_second: 1e-09: write 0.001 to 1e+06, or 0 for no limit"},
		{"burst", Config{RequestsPerSecond: 1, Burst: 2e6}, "limits: burst: 2000000: write 1 to 1000000, or 0 for requests_per_second"},
		{"clients", Config{RequestsPerSecond: 1, MaxClients: 1 << 30}, "limits: max_clients: 1073741824: write 1 to 16777216, or 0 for 65536"},
		{"duration", Config{MaxDuration: 5}, "limits: max_duration: 5ns"},
		{"no rate", Config{Burst: 1, Key: "identity"}, "limits: burst: has no effect without requests_per_second: set both or none\nlimits: key: has no effect without requests_per_second: set both or none"},
	} {
		got := ""
		if err := row.cfg.Check(); err != nil {
			got = err.Error()
		}
		if got != row.want && (row.want == "" || !strings.HasPrefix(got, row.want)) {
			t.Errorf("%s: got\n%s\nwant\n%s", row.name, got, row.want)
		}
	}
}

func BenchmarkAllow(b *testing.B) {
	r := NewRate(&Config{RequestsPerSecond: 1e6})
	c := &fixedClient{}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		r.Allow(c, time.Duration(i)*time.Microsecond)
	}
}
