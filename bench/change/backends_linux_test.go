package change

import (
	"testing"

	"example.com/ferry/bench/internal/clientload"
)

// backends are the servers behind the server under test.
type backends struct {
	web  [2]*clientload.Web // named "0" and "1"
	bolt *clientload.BoltServer
	grpc *clientload.GRPCServer
}

func newBackends(t *testing.T) *backends {
	t.Helper()
	b := new(backends)
	var err error
	for i, name := range []string{"0", "1"} {
		if b.web[i], err = clientload.NewWeb(name); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.web[i].Close)
	}
	if b.bolt, err = clientload.NewBoltServer(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.bolt.Close)
	if b.grpc, err = clientload.NewGRPCServer(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.grpc.Close)
	return b
}
