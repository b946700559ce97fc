package clientload

import "testing"

// TestGRPC calls the server without a proxy between.
func TestGRPC(t *testing.T) {
	s, err := NewGRPCServer()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := GRPC{Addr: s.Addr}.Kind().Connect(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Do(t.Context(), "1"); err != nil {
		t.Error(err)
	}
}
