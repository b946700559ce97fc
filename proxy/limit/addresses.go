package limit

import (
	"hash/maphash"
	"net/netip"
	"sync"
)

// network is what connections are counted by: an IPv4 address in its IPv6 form, or the first 64 bits of an IPv6 address, of
// which a client usually has all.
type network [16]byte

func networkOf(a netip.Addr) network {
	n := network(a.Unmap().As16())
	if !a.Unmap().Is4() {
		clear(n[8:])
	}
	return n
}

// noAddress is the ticket of a connection that is not counted by its address.
const noAddress = 0

const (
	shardBits = 4
	shardMask = 1<<shardBits - 1
	keepFree  = 1024 // entries of an empty shard that are kept for reuse
)

// addresses counts the connections of each network. It has an entry for each network that has a connection, and no others.
type addresses struct {
	seed   maphash.Seed
	shards [1 << shardBits]addressShard
}

// addressShard holds the networks with one hash, so that two loops seldom wait for each other.
type addressShard struct {
	mu      sync.Mutex
	index   map[network]uint32 // where a network is in entries
	entries []addressEntry
	free    []uint32 // unused entries
	_       [64]byte // keeps two shards on different cache lines
}

type addressEntry struct {
	network network
	conns   int64
}

func (a *addresses) init() { a.seed = maphash.MakeSeed() }

// enter counts a connection of n, unless n has most connections. leave follows with the ticket. A ticket has the number of the
// entry, which begins at 1, and the number of the shard.
func (a *addresses) enter(n network, most int64) (ticket uint32, admitted bool) {
	shard := uint32(maphash.Comparable(a.seed, n)) & shardMask
	s := &a.shards[shard]
	s.mu.Lock()
	defer s.mu.Unlock()
	i, known := s.index[n]
	switch {
	case known && s.entries[i].conns >= most:
		return noAddress, false
	case !known:
		i = s.add(n)
	}
	s.entries[i].conns++
	return (i+1)<<shardBits | shard, true
}

// add adds an entry.
func (s *addressShard) add(n network) uint32 {
	if s.index == nil {
		s.index = map[network]uint32{}
	}
	i := uint32(len(s.entries))
	if last := len(s.free) - 1; last >= 0 {
		i = s.free[last]
		s.free = s.free[:last]
	} else {
		s.entries = append(s.entries, addressEntry{})
	}
	s.entries[i] = addressEntry{network: n}
	s.index[n] = i
	return i
}

// leave ends the counting of a connection.
func (a *addresses) leave(ticket uint32) {
	s := &a.shards[ticket&shardMask]
	s.mu.Lock()
	defer s.mu.Unlock()
	i := ticket>>shardBits - 1
	e := &s.entries[i]
	if e.conns--; e.conns > 0 {
		return
	}
	delete(s.index, e.network)
	s.free = append(s.free, i)
	if len(s.index) == 0 && len(s.entries) > keepFree { // a map does not shrink
		s.index, s.entries, s.free = nil, nil, nil
	}
}

// networkOfText is networkOf for an address in text form.
func networkOfText(s string) network {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return network{}
	}
	return networkOf(a)
}
