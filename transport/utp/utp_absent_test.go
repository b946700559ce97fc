//go:build !utp || !cgo

package utp

import (
	"strings"
	"testing"
)

// TestAbsent holds that a binary without the build tag refuses loudly.
func TestAbsent(t *testing.T) {
	t.Parallel()
	conn, dialErr := New(nil).Dial(t.Context(), "127.0.0.1:1")
	l, listenErr := New(nil).Listen(t.Context(), "127.0.0.1:0")
	if conn != nil || l != nil {
		t.Error("a connection or a listener without uTP")
	}
	for _, err := range []error{dialErr, listenErr} {
		if err == nil || !strings.Contains(err.Error(), "-tags utp") || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%v: want an error with the address and the build tag", err)
		}
	}
	if err := Descriptor().CheckAddress("127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "-tags utp") {
		t.Errorf("CheckAddress = %v, want an error with the build tag", err)
	}
}
