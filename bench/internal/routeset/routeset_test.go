package routeset_test

import (
	"testing"

	"example.com/ferry/bench/internal/routeset"
)

// TestOf: requests take all routes, but the one that Version changes.
func TestOf(t *testing.T) {
	for _, s := range []routeset.Set{
		{Kind: routeset.HostPrefix, Count: 10},
		{Kind: routeset.Header, Count: 1000},
		{Kind: routeset.HostPrefix, Count: 10_000},
		{Kind: routeset.HostPrefix, Count: 10, Version: 1},
		{Kind: routeset.HostPrefix, Count: 1000, Version: 2},
	} {
		seen := map[int]bool{}
		for request := range uint64(2 * s.Count) {
			seen[s.Of(request+1)] = true
		}
		want := s.Count
		if s.Version != 0 {
			want--
		}
		if len(seen) != want || s.Version != 0 && seen[s.Count-1] {
			t.Errorf("%+v: requests take %d routes, want %d", s, len(seen), want)
		}
		if s.Of(1) != 0 || s.Of(2) != want/2 || s.Of(3) != want-1 {
			t.Errorf("%+v: the first requests take %d, %d and %d", s, s.Of(1), s.Of(2), s.Of(3))
		}
	}
}

// TestDistinct: no two routes match the same requests.
func TestDistinct(t *testing.T) {
	for _, kind := range []routeset.Kind{routeset.HostPrefix, routeset.Header} {
		s := routeset.Set{Kind: kind, Count: 1000}
		seen := map[string]bool{}
		for _, r := range s.Hosts() {
			for i := r[0]; i < r[1]; i++ {
				if s.Host(i) != s.Host(r[0]) {
					t.Errorf("%s: route %d has host %s, want %s", kind, i, s.Host(i), s.Host(r[0]))
				}
				seen[s.Host(i)+s.Prefix(i)+s.HeaderValue(i)] = true
			}
		}
		if len(seen) != s.Count {
			t.Errorf("%s: %d different routes, want %d", kind, len(seen), s.Count)
		}
	}
}
