package limit

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
)

// randomAddress returns one of about n addresses of both versions.
func randomAddress(rng *rand.Rand, n int) netip.Addr {
	var b [16]byte
	i := uint64(rng.IntN(n))
	if rng.IntN(2) == 0 {
		binary.BigEndian.PutUint32(b[:], uint32(i))
		return netip.AddrFrom4([4]byte(b[:4]))
	}
	binary.BigEndian.PutUint64(b[:], 0x2001_0db8<<32+i)
	binary.BigEndian.PutUint64(b[8:], rng.Uint64()) // any host of the network
	return netip.AddrFrom16(b)
}

// TestAddressesCountExactly opens and closes 100,000 simulated connections in random order and compares each decision with a
// model. At the end the table is empty, and it has given its memory back.
func TestAddressesCountExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var a addresses
	a.init()
	const most = 5
	type conn struct {
		network network
		ticket  uint32
	}
	var open []conn
	model := map[network]int64{}
	for opened := 0; opened < 100_000; {
		if len(open) > 0 && (rng.IntN(20) < 9 || len(open) > 40_000) {
			i := rng.IntN(len(open))
			a.leave(open[i].ticket)
			if model[open[i].network]--; model[open[i].network] == 0 {
				delete(model, open[i].network)
			}
			open[i] = open[len(open)-1]
			open = open[:len(open)-1]
			continue
		}
		opened++
		n := networkOf(randomAddress(rng, 20_000))
		ticket, admitted := a.enter(n, most)
		if want := model[n] < most; admitted != want {
			t.Fatalf("connection %d: admitted is %v with %d open", opened, admitted, model[n])
		}
		if admitted {
			model[n]++
			open = append(open, conn{n, ticket})
		}
		if opened%1000 == 0 && a.len() != len(model) {
			t.Fatalf("%d networks, want %d", a.len(), len(model))
		}
	}
	for _, c := range open {
		a.leave(c.ticket)
	}
	for i := range a.shards {
		if s := &a.shards[i]; len(s.index) != 0 || len(s.entries) > keepFree || len(s.free) != len(s.entries) {
			t.Errorf("shard %d has %d networks, %d entries and %d free ones at the end", i, len(s.index), len(s.entries), len(s.free))
		}
	}
}

// TestAddressesTogether: goroutines open and close connections of few networks. No network exceeds its limit.
func TestAddressesTogether(t *testing.T) {
	var a addresses
	a.init()
	const most = 3
	var mu sync.Mutex
	held := map[network]int{}
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 5000 {
				n := networkOf(randomAddress(rng, 4))
				ticket, admitted := a.enter(n, most)
				if !admitted {
					continue
				}
				mu.Lock()
				if held[n]++; held[n] > most {
					t.Errorf("%d connections of one network, want at most %d", held[n], most)
				}
				mu.Unlock()
				mu.Lock()
				held[n]--
				mu.Unlock()
				a.leave(ticket)
			}
		})
	}
	all.Wait()
	if a.len() != 0 {
		t.Errorf("%d networks are left", a.len())
	}
}

func TestNetworkOf(t *testing.T) {
	for _, row := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"2001:db8::1", "2001:db8::ffff:1:2:3", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"::", "0.0.0.0", false},
		{"::1", "127.0.0.1", false},
	} {
		a, b := networkOf(netip.MustParseAddr(row.a)), networkOf(netip.MustParseAddr(row.b))
		if (a == b) != row.same || networkOfText(row.a) != a {
			t.Errorf("%s and %s: same network is %v, want %v", row.a, row.b, a == b, row.same)
		}
	}
}
