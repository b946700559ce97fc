package rpc_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
)

// TestHealth: an endpoint that reports NOT_SERVING gets no calls until it reports SERVING.
func TestHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		a := named("a")
		listen(t, p, a, "a")
		listen(t, p, named("b"), "b")
		c := dial(t, p, "a,b", &rpc.ClientConfig{Policy: rpc.RoundRobin, HealthInterval: time.Second})
		for _, step := range []struct {
			service string
			serving bool
			want    int
		}{{"", true, 5}, {"", false, 0}, {"", true, 5}, {"other.Service", false, 5}} {
			a.SetServing(step.service, step.serving)
			time.Sleep(2 * time.Second)
			if got := tally(t, c, 10); got["a"] != step.want {
				t.Errorf("%q serving %v: got %v, want %d of a", step.service, step.serving, got, step.want)
			}
		}
	})
}

// TestHealthService: Check and Watch report what SetServing has set.
func TestHealthService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newDirect()
		srv := named("a")
		listen(t, p, srv, "a")
		c := dial(t, p, "a", nil)
		check := func(service string) string {
			out, err := rpc.Call[rpc.HealthResponse](t.Context(), c, rpc.HealthCheck, &rpc.HealthRequest{Service: service})
			if err != nil {
				return call.StatusOf(err).Code.String()
			}
			return out.Status
		}
		for service, want := range map[string]string{"": "SERVING", "greeter.Greeter": "SERVING", "no.Service": "NOT_FOUND"} {
			if got := check(service); got != want {
				t.Errorf("%q: got %s, want %s", service, got, want)
			}
		}
		srv.SetServing("ready", true)
		if got := check("ready"); got != "SERVING" {
			t.Errorf("a service without methods that SetServing names: got %s, want SERVING", got)
		}
		s, err := rpc.Open[rpc.HealthResponse, rpc.HealthRequest](t.Context(), c, rpc.HealthWatch)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(s.Send(&rpc.HealthRequest{Service: "greeter.Greeter"}), s.CloseSend()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for range 3 {
			m, err := s.Recv()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, m.Status)
			srv.SetServing("greeter.Greeter", len(got) > 1)
		}
		if want := []string{"SERVING", "NOT_SERVING", "SERVING"}; !slices.Equal(got, want) {
			t.Errorf("Watch: got %q, want %q", got, want)
		}
		if err := srv.Drain(t.Context()); err != nil {
			t.Errorf("a Watch keeps the server from draining: %v", err)
		}
		if _, err := s.Recv(); !errors.Is(err, &call.Status{Code: call.Unavailable}) {
			t.Errorf("Watch after Drain: got %v, want Unavailable", err)
		}
	})
}
