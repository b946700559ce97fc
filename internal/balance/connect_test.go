package balance_test

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"example.com/ferry/internal/balance"
)

func TestOfConnect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		want balance.Outcome
	}{
		{syscall.EMFILE, balance.LocalFailure},
		{fmt.Errorf("loop: connect: %w", os.NewSyscallError("socket", syscall.ENFILE)), balance.LocalFailure},
		{syscall.EADDRNOTAVAIL, balance.LocalFailure},
		{syscall.ENOBUFS, balance.LocalFailure},
		{syscall.ECONNREFUSED, balance.ConnectFailure},
		{syscall.EHOSTUNREACH, balance.ConnectFailure},
		{os.ErrDeadlineExceeded, balance.ConnectFailure},
		{errors.New("another"), balance.ConnectFailure},
	} {
		if got := balance.OfConnect(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}
