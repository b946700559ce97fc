package invalid

import (
	"errors"
	"testing"
	"time"
)

func TestErrors(t *testing.T) {
	t.Parallel()
	var part, es Errors
	if err := es.Err(); err != nil {
		t.Fatalf("nothing is wrong, and yet: %v", err)
	}
	part.Add("route", "routes[1].match", "%d paths: write one", 2)
	es.AddAt("proxy", "listeners[0]", nil)
	es.AddAt("proxy", "listeners[0]", part.Err())
	es.AddAt("proxy", "listeners[1].address", errors.New("no port"))
	want := "proxy: listeners[0].routes[1].match: 2 paths: write one\nproxy: listeners[1].address: no port"
	if got := es.Err().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var one *Error
	if !errors.As(es.Err(), &one) || one.Field != "listeners[0].routes[1].match" {
		t.Errorf("errors.As found %+v", one)
	}
}

func TestAddDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-1:                           "",
		0:                            "",
		time.Nanosecond:              "p: f: 1ns is too short: at least 1ms",
		time.Millisecond:             "",
		8760 * time.Hour:             "",
		8760*time.Hour + time.Second: "p: f: 8760h0m1s is too long: at most 8760h0m0s",
		1<<63 - 1:                    "p: f: 2562047h47m16.854775807s is too long: at most 8760h0m0s",
	} {
		var es Errors
		es.AddDuration("p", "f", d)
		if got := es.Error(); got != want {
			t.Errorf("%d: got %q, want %q", d, got, want)
		}
	}
}
