package limit

import (
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"time"
)

const (
	minRate        = 0.001
	maxRate        = 1e6
	maxBurst       = 1_000_000
	defaultClients = 1 << 16
	maxClients     = 1 << 24
	setSize        = 8 // clients in one set
)

// Rate limits the requests per second of each client of a listener. Any goroutine may call its methods.
//
// Each client has a token bucket. Its whole state is the time at which the bucket will be full again, and a client with a full
// bucket needs no entry. The table has a fixed size: it is divided into sets of 8 clients, and a client's hash chooses its set.
// A new client takes the place of the one in its set whose bucket is full, or will be full first. So a client that makes many
// requests stays, however many others come and go.
type Rate struct {
	seeds    [keyKinds]maphash.Seed // one for each kind, so that a header's value is not taken for an address
	header   string                 // the field that Key names; empty: address or identity
	identity bool
	interval int64 // ns until one token is refilled
	slack    int64 // a token is available while fullAt is at most slack ns after now
	sets     []rateSet
}

// rateSet is two cache lines for the clients, and the lock.
type rateSet struct {
	mu      sync.Mutex
	clients [setSize]rateClient
}

type rateClient struct {
	hash   uint64
	fullAt int64 // ns on the caller's clock; a free entry has 0
}

// NewRate creates the rate limit of a listener, or returns nil if cfg has none. cfg has passed Check.
func NewRate(cfg *Config) *Rate {
	if cfg.RequestsPerSecond <= 0 {
		return nil
	}
	clients, burst := cfg.MaxClients, cfg.Burst
	if clients == 0 {
		clients = defaultClients
	}
	if burst == 0 {
		burst = int(math.Ceil(cfg.RequestsPerSecond))
	}
	r := &Rate{
		identity: cfg.Key == KeyIdentity,
		interval: int64(math.Round(float64(time.Second) / cfg.RequestsPerSecond)),
		sets:     make([]rateSet, (clients+setSize-1)/setSize),
	}
	r.header, _ = strings.CutPrefix(cfg.Key, keyHeader)
	if r.header == cfg.Key {
		r.header = ""
	}
	r.slack = r.interval * int64(burst-1)
	for i := range r.seeds {
		r.seeds[i] = maphash.MakeSeed()
	}
	return r
}

// SameRate reports whether two configurations have the same Rate. Then its clients keep their tokens.
func SameRate(a, b *Config) bool {
	return a.RequestsPerSecond == b.RequestsPerSecond && a.Burst == b.Burst && a.Key == b.Key && a.MaxClients == b.MaxClients
}

// Client is a client of a request, as a Rate sees it.
type Client interface {
	ClientAddr() string             // IP address without a port; empty on a Unix domain socket
	ClientIdentity() string         // name in the TLS certificate; empty without one
	ClientField(name string) []byte // first value of a header field; nil if there is none
}

// Allow takes a token of the client. If the client has none, wait is the time until it has one. now is a monotonic time, which
// all callers share.
func (r *Rate) Allow(c Client, now time.Duration) (wait time.Duration, ok bool) {
	hash := r.hash(c)
	s := &r.sets[hash%uint64(len(r.sets))]
	s.mu.Lock()
	defer s.mu.Unlock()
	place := &s.clients[0]
	for i := range s.clients {
		e := &s.clients[i]
		if e.hash == hash {
			place = e
			break
		}
		if e.fullAt < place.fullAt {
			place = e
		}
	}
	fullAt := int64(now)
	if place.hash == hash {
		fullAt = max(fullAt, place.fullAt)
	}
	if late := fullAt - int64(now) - r.slack; late > 0 {
		return time.Duration(late), false
	}
	*place = rateClient{hash, fullAt + r.interval}
	return 0, true
}

// The kinds of keys.
const (
	byAddress = iota
	byIdentity
	byHeader
	keyKinds
)

// HeaderKey returns the hash of the header field that Config.Key names, or 0 if it names none or the request has none.
func (r *Rate) HeaderKey(c Client) uint64 {
	if r.header != "" {
		if value := c.ClientField(r.header); value != nil {
			return maphash.Bytes(r.seeds[byHeader], value)
		}
	}
	return 0
}

// hash returns the hash of the client's key. Its seed is random, so that a client cannot choose its set.
func (r *Rate) hash(c Client) uint64 {
	if key := r.HeaderKey(c); key != 0 {
		return key
	}
	if r.identity {
		if name := c.ClientIdentity(); name != "" {
			return maphash.String(r.seeds[byIdentity], name)
		}
	}
	addr := c.ClientAddr()
	if strings.Contains(addr, ":") {
		return maphash.Comparable(r.seeds[byAddress], networkOfText(addr))
	}
	return maphash.String(r.seeds[byAddress], addr)
}
