package needs

import (
	"fmt"
	"os"
	"runtime"
	"testing"
)

// recorder is a testing.TB that records whether the test failed or was skipped.
type recorder struct {
	testing.TB
	ended string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) { r.end("failed: ", format, args) }

func (r *recorder) Skipf(format string, args ...any) { r.end("skipped: ", format, args) }

func (r *recorder) end(how, format string, args []any) {
	r.ended = how + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func ended(f func(testing.TB)) string {
	r, done := new(recorder), make(chan struct{})
	go func() {
		defer close(done)
		f(r)
	}()
	<-done
	return r.ended
}

func TestProgram(t *testing.T) {
	lacking := func(t testing.TB) { Program(t, "no-such-program") }
	for _, row := range []struct{ name, ci, want string }{
		{"at home", "", "skipped: needs no-such-program: make deps"},
		{"on CI", "true", "failed: needs no-such-program: make deps (CI=true, so it may not be skipped)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Setenv("CI", row.ci)
			if got := ended(lacking); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	if got := Program(t, "go"); got == "" {
		t.Error("go was found, but its path is empty")
	}
}

func TestRoot(t *testing.T) {
	t.Setenv("CI", "")
	want := ""
	if os.Geteuid() != 0 {
		want = "skipped: needs root: sudo make test"
	}
	if got := ended(Root); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCores(t *testing.T) {
	t.Setenv("CI", "")
	if got := ended(func(t testing.TB) { Cores(t, 1) }); got != "" {
		t.Errorf("one core is missed: %q", got)
	}
	if got, want := ended(func(t testing.TB) { Cores(t, 1<<20) }), "skipped: needs 1048576 cores: run it on a larger machine"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
