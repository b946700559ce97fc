package upstream_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ferry/proxy/upstream"
)

// several returns the configuration of a cluster of n endpoints. uneven gives them different weights.
func several(n int, b upstream.Balance, uneven bool) *upstream.Config {
	c := &upstream.Config{Name: "it", Balance: b, Outlier: &upstream.Outlier{}}
	for i := range n {
		s := upstream.EndpointConfig{Address: fmt.Sprintf("192.0.2.%d:80", i+1)}
		if uneven {
			s.Weight = 1 + i%3
		}
		c.Endpoints = append(c.Endpoints, s)
	}
	return c
}

var sizes = []struct {
	name   string
	n      int
	uneven bool
}{
	{"1", 1, false},
	{"3", 3, false},
	{"100 weighted", 100, true},
}

func TestPickAllocates(t *testing.T) {
	for _, b := range []upstream.Balance{upstream.LeastRequest, upstream.RoundRobin, upstream.EWMA} {
		for _, size := range sizes {
			c := cluster(t, several(size.n, b, size.uneven))
			now := time.Duration(0)
			if n := testing.AllocsPerRun(100, func() {
				e, err := c.Pick(rand.Uint64(), now, nil)
				if err != nil {
					t.Fatal(err)
				}
				now += time.Millisecond
				e.Done(upstream.Outcome(now/time.Millisecond%2), time.Millisecond, now)
			}); n != 0 {
				t.Errorf("%s, %s: %v allocations", b, size.name, n)
			}
		}
	}
}

// BenchmarkFloor measures the lower bound of BenchmarkPick: a random number, and the updates of the cluster's and the
// endpoint's counters.
func BenchmarkFloor(b *testing.B) {
	var cluster, endpoint atomic.Int64
	random, sum := rand.New(rand.NewPCG(1, 2)), uint64(0)
	for b.Loop() {
		sum += random.Uint64()
		cluster.Add(1)
		endpoint.Add(1)
		cluster.Add(-1)
		endpoint.Add(-1)
	}
	if sum == 0 {
		b.Fatal("no random numbers")
	}
}

// BenchmarkPick measures Pick and Done at 100,000 requests per second.
func BenchmarkPick(b *testing.B) {
	for _, balance := range []upstream.Balance{upstream.LeastRequest, upstream.RoundRobin, upstream.EWMA} {
		for _, size := range sizes {
			b.Run(fmt.Sprintf("%s/%s", balance, size.name), func(b *testing.B) {
				c := cluster(b, several(size.n, balance, size.uneven))
				random, now := rand.New(rand.NewPCG(1, 2)), time.Duration(0)
				b.ReportAllocs()
				for b.Loop() {
					e, err := c.Pick(random.Uint64(), now, nil)
					if err != nil {
						b.Fatal(err)
					}
					now += 10 * time.Microsecond
					e.Done(upstream.Success, time.Millisecond, now)
				}
			})
		}
	}
}

// BenchmarkPickShared is BenchmarkPick with one loop per core.
func BenchmarkPickShared(b *testing.B) {
	for _, balance := range []upstream.Balance{upstream.LeastRequest, upstream.RoundRobin, upstream.EWMA} {
		b.Run(string(balance), func(b *testing.B) {
			c := cluster(b, several(3, balance, false))
			var seed atomic.Uint64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				random, now := rand.New(rand.NewPCG(seed.Add(1), 2)), time.Duration(0)
				for pb.Next() {
					e, err := c.Pick(random.Uint64(), now, nil)
					if err != nil {
						b.Error(err)
						return
					}
					now += 10 * time.Microsecond
					e.Done(upstream.Success, time.Millisecond, now)
				}
			})
		})
	}
}
