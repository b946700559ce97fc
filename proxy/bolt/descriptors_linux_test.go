package bolt

import (
	"testing"

	"golang.org/x/sys/unix"

	wire "example.com/ferry/protocol/bolt"
	"example.com/ferry/proxy/upstream"
)

// If this process has no descriptor left to connect with, the failure does not count against the endpoint. The limit
// applies to the whole process, so the test is not parallel.
func TestNoDescriptorsLeft(t *testing.T) {
	s := newServer(t, nil)
	careful := cluster("c", s, newServer(t, nil))
	careful.Outlier = &upstream.Outlier{Failures: 1}
	p := start(t, nil, nil, forwardAll, careful)
	made := p.use(nil, nil, forwardAll, careful)["c"]
	c := p.dial()
	beat, _ := wire.AppendHeartbeat(nil, wire.V1, 1)
	if err := c.write(beat); err != nil {
		t.Fatal(err)
	}
	c.status(1, wire.StatusSuccess) // the client's connection is open on both sides
	var was unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	for i, size := range []int{10, 2 * largeFrame} {
		c.send(call(wire.V1, uint32(i), "a", filled(size)))
		c.status(uint32(i), wire.StatusClientSend)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	want := [upstream.Outcomes]int64{upstream.LocalFailure: 2}
	if got := outcomes(made); got != want {
		t.Errorf("outcomes %v, want two local failures", got)
	}
	for _, e := range made.Snapshot().Endpoints {
		if e.Ejections != 0 {
			t.Errorf("%s was ejected", e.Address)
		}
	}
	for i := range uint32(4) {
		c.send(call(wire.V1, i, "a", nil))
		c.status(i, wire.StatusSuccess)
	}
}
