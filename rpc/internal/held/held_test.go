package held_test

import (
	"math/rand/v2"
	"testing"

	"example.com/ferry/rpc/internal/held"
)

// TestServerCharges: the server's count is that of the connections, less what is spared and at most two steps more for each; it is zero when
// nothing is held.
func TestServerCharges(t *testing.T) {
	t.Parallel()
	server := held.NewServer(10 << 20)
	r := rand.New(rand.NewPCG(1, 2))
	accounts := make([]held.Account, 20)
	for i := range accounts {
		accounts[i] = held.New(server, 1<<20)
	}
	for range 20_000 {
		a := &accounts[r.IntN(len(accounts))]
		a.Add(max(r.IntN(400_000)-200_000, -a.Held()))
		least, most := 0, 0
		for i := range accounts {
			over := max(accounts[i].Held()-held.Spared, 0)
			least += over
			if most += over; over > 0 {
				most += 3 * 64 << 10
			}
		}
		if used := server.Used(); used < least || used > most {
			t.Fatalf("the server counts %d bytes, want %d to %d", used, least, most)
		}
		if a.Held() > 1<<20 && !a.Full() {
			t.Fatalf("with %d bytes, the account is not full", a.Held())
		}
	}
	for i := range accounts {
		accounts[i].Add(-accounts[i].Held())
	}
	if server.Used() != 0 {
		t.Errorf("the server counts %d bytes of nothing", server.Used())
	}
}

// TestShares: connections that take all that they get leave as much to the next one as each of them has, and what one gives back is for all.
func TestShares(t *testing.T) {
	t.Parallel()
	const limit, piece = 12 << 20, 32 << 10
	server := held.NewServer(limit)
	var accounts []*held.Account
	for n := 1; n <= 5; n++ {
		a := held.New(server, limit)
		accounts = append(accounts, &a)
		for grown := true; grown; {
			grown = false
			for _, a := range accounts {
				if a.Add(piece); a.Full() {
					a.Add(-piece)
				} else {
					grown = true
				}
			}
		}
		if n == 1 && a.Held() < limit/2-64<<10 {
			t.Errorf("one connection gets %d bytes, want half of %d", a.Held(), limit)
		}
		if free := limit - server.Used(); a.Held() < free-2*(64<<10) || server.Used() > limit {
			t.Errorf("connection %d has %d bytes, and %d are left to the next one", n, a.Held(), free)
		}
	}
	for _, a := range accounts[1:] {
		a.Add(-a.Held())
	}
	first := accounts[0]
	if first.Add(-256 << 10); first.Full() {
		t.Errorf("a connection with %d bytes is full when the others have none", first.Held())
	}
}

// TestReserve: only one message may exceed the limit, and those that wait learn of room.
func TestReserve(t *testing.T) {
	t.Parallel()
	a := held.New(nil, 100)
	a.Add(60)
	if !a.Reserve(500) {
		t.Fatal("the first message finds no room")
	}
	if a.Reserve(1) {
		t.Fatal("a second message exceeds the limit")
	}
	freed := a.Freed()
	a.Return(480)
	select {
	case <-freed:
	default:
		t.Error("the one that waits is not told")
	}
	if !a.Reserve(20) || a.Reserve(1) {
		t.Errorf("%d bytes are held: want room for exactly 20 more", a.Held())
	}
	a.Return(40)
	a.Add(-60)
	if a.Held() != 0 || a.Full() {
		t.Errorf("%d bytes are left", a.Held())
	}
}
