package child_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ferry/bench/internal/child"
)

const variable = "FERRY_BENCH_CHILD_TEST"

type spec struct{ Fails, Mute bool }

type order struct{ Add int }

type report struct {
	Err string
	Sum int
}

func TestMain(m *testing.M) {
	child.Main(variable, func(spec) string { return "adder" }, func(s spec) (func(order) report, report, error) {
		if s.Fails {
			return nil, report{}, errors.New("it does not add")
		}
		if s.Mute {
			time.Sleep(time.Minute)
		}
		sum := 0
		return func(o order) report {
			if o.Add == 0 {
				return report{Err: "nothing to add"}
			}
			sum += o.Add
			return report{Sum: sum}
		}, report{Sum: -1}, nil
	})
	os.Exit(m.Run())
}

func TestRole(t *testing.T) {
	var r report
	p, err := child.Role("adder", variable, spec{}, &r, time.Minute)
	if err != nil || r.Sum != -1 {
		t.Fatalf("got %+v, %v, want the first report", r, err)
	}
	defer p.End()
	for _, want := range []int{2, 4} {
		if err := p.Ask(order{2}, &r, time.Minute); err != nil || r.Sum != want {
			t.Fatalf("got %+v, %v, want %d", r, err, want)
		}
		if err := p.Ask(order{}, &r, time.Minute); err == nil || err.Error() != "adder: nothing to add" {
			t.Errorf("a refused order: got %v", err)
		}
	}
	p.Kill()
	if err := p.Ask(order{2}, &r, time.Minute); err == nil {
		t.Error("a killed process has reported")
	}
}

func TestRoleFails(t *testing.T) {
	var r report
	if _, err := child.Role("adder", variable, spec{Fails: true}, &r, time.Minute); err == nil || !strings.Contains(err.Error(), "it does not add") {
		t.Errorf("got %v, want the role's own words", err)
	}
	if _, err := child.Role("adder", variable, spec{Mute: true}, &r, 50*time.Millisecond); err == nil || !strings.Contains(err.Error(), "no report within") {
		t.Errorf("got %v, want a timeout", err)
	}
}

func TestProgram(t *testing.T) {
	p, err := child.Program("", "sleep", "sleep", "60")
	if err != nil {
		t.Fatal(err)
	}
	if p.PID() == 0 {
		t.Error("no number")
	}
	p.End()
	if _, err := child.Program("", "nothing", "/no/such/program"); err == nil || !strings.Contains(err.Error(), "nothing: ") {
		t.Errorf("got %v, want an error that names it", err)
	}
}
