package pinned

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// role is the environment variable with the role of a process of this test.
const role = "PINNED_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "spin": // uses CPU time on threads that end, then waits
		for range 4 {
			done := make(chan struct{})
			go func() {
				runtime.LockOSThread() // and ends the thread
				burn(20 * time.Millisecond)
				close(done)
			}()
			<-done
		}
		fmt.Println("spun")
		select {}
	case "parent": // leaves a child behind
		p, err := Start(nil, "", "sleep", "600")
		if err != nil {
			panic(err)
		}
		fmt.Println(p.PID())
		os.Exit(0)
	case "listen":
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		fmt.Println(l.Addr())
		time.Sleep(time.Hour)
	}
}

// burn uses that much of the thread's CPU time.
func burn(d time.Duration) {
	var start, now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &start)
	for now = start; time.Duration(now.Nano()-start.Nano()) < d; {
		_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &now)
	}
}

// start starts this test in a role, and waits for its first line.
func start(t *testing.T, cores []int, as string) (p *Process, line string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err = Start(cores, t.TempDir(), "env", role+"="+as, self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	line, err = p.WaitLine(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	return p, line
}

func TestCores(t *testing.T) {
	var own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &own); err != nil {
		t.Fatal(err)
	}
	var usable []int
	for core := range 1024 {
		if own.IsSet(core) {
			usable = append(usable, core)
		}
	}
	for _, cores := range [][]int{usable[:1], usable[len(usable)-1:], nil} {
		p, _ := start(t, cores, "listen")
		var got unix.CPUSet
		if err := unix.SchedGetaffinity(p.PID(), &got); err != nil {
			t.Fatal(err)
		}
		want := cores
		if cores == nil {
			want = usable
		}
		for core := range 1024 {
			if got.IsSet(core) != slices.Contains(want, core) {
				t.Errorf("pinned to %v: may use core %d: %v", want, core, got.IsSet(core))
			}
		}
	}
	var after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &after); err != nil || after != own {
		t.Errorf("this process may use %v (%v), could before use %v", after, err, own)
	}
}

func TestCPUCountsThreadsThatHaveEnded(t *testing.T) {
	p, _ := start(t, nil, "spin")
	got, err := p.CPU()
	if err != nil || got < 80*time.Millisecond {
		t.Errorf("got %v, %v; want at least the 80 ms of four threads", got, err)
	}
	p.Stop()
	if _, err := p.CPU(); err == nil {
		t.Error("a process that has ended tells its CPU time")
	}
}

func TestMemoryAndThreads(t *testing.T) {
	p, _ := start(t, nil, "listen")
	m, err := p.Memory()
	if err != nil || m.Anon <= 0 || m.RSS < m.Anon || m.Peak < m.RSS {
		t.Errorf("got %+v, %v", m, err)
	}
	if n, err := p.Threads(); err != nil || n < 1 {
		t.Errorf("%d threads, %v", n, err)
	}
}

func TestFamily(t *testing.T) {
	p, err := Start(nil, "", "sh", "-c", "sleep 600 & echo $!; wait")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	line, err := p.WaitLine(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(child, syscall.SIGKILL)
	if got := p.Family(); !slices.Contains(got, child) || got[0] != p.PID() {
		t.Errorf("%v is the family of %d, which has started %d", got, p.PID(), child)
	}
}

func TestChildrenEndWithTheirParent(t *testing.T) {
	_, line := start(t, nil, "parent")
	child, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	for range 2000 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil || strings.Contains(string(stat), ") Z ") { // gone, or a zombie
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("process %d is there 10 s after its parent has ended", child)
}

func TestWaitListening(t *testing.T) {
	p, addr := start(t, nil, "listen")
	if err := p.WaitListening(addr, time.Minute); err != nil {
		t.Error(err)
	}
	if err := Free(addr); err == nil {
		t.Errorf("%s is free, which is listened on", addr)
	}
	p.Stop()
	if err := Free(addr); err != nil {
		t.Error(err)
	}
	if err := p.WaitListening(addr, time.Minute); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("got %v, want that the process has ended", err)
	}
}

func TestWaitLineFails(t *testing.T) {
	for _, row := range []struct {
		name, script string
		timeout      time.Duration
		want         string
	}{
		{"ended", "printf half; exit 4", time.Minute, `has ended (exit status 4) with no line but "half"`},
		{"late", "printf half; sleep 600", 50 * time.Millisecond, "has written no line after 50ms"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, err := Start(nil, "", "sh", "-c", row.script)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Stop()
			if line, err := p.WaitLine(row.timeout); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %q, %v; want %q", line, err, row.want)
			}
		})
	}
}

func TestWait(t *testing.T) {
	for _, row := range []struct {
		name    string
		argv    []string
		timeout time.Duration
		want    string
	}{
		{"done", []string{"true"}, time.Minute, ""},
		{"failed", []string{"sh", "-c", "echo it hurts >&2; exit 3"}, time.Minute, "exit status 3: it hurts"},
		{"late", []string{"sleep", "600"}, time.Millisecond, "has not ended within 1ms"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p, err := Start(nil, "", row.argv...)
			if err != nil {
				t.Fatal(err)
			}
			err = p.Wait(row.timeout)
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestStopsWhatDoesNotListen(t *testing.T) {
	t.Parallel()
	p, err := Start(nil, "", "sh", "-c", `trap "" TERM; echo deaf; while :; do sleep 0.1; done`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.WaitLine(time.Minute); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if err := syscall.Kill(p.PID(), 0); err == nil {
		t.Errorf("process %d is still there", p.PID())
	}
}

func TestOutputKeepsTheEnd(t *testing.T) {
	var out tail
	for i := range 10_000 {
		fmt.Fprintf(&out, "line %d of many\n", i)
	}
	if got := out.String(); len(got) != tailSize || !strings.HasSuffix(got, "line 9999 of many\n") {
		t.Errorf("%d bytes that end in %q", len(got), got[len(got)-20:])
	}
}

func TestStartFails(t *testing.T) {
	if _, err := Start(nil, "", "/no/such/program"); err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v, want the program's name", err)
	}
	if _, err := Start([]int{1000}, "", "true"); err == nil {
		t.Error("a program runs on core 1000")
	}
	if _, err := Start(nil, ""); err == nil {
		t.Error("no program was started")
	}
}
