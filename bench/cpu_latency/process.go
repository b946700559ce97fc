//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// A process of this program that finds a role in its environment is a part of the experiment, not the benchmark itself.
const roleVariable = "FERRY_BENCH_ROLE"

const (
	roleServer = "server"
	roleWorker = "worker" // of a server
	roleProbe  = "probe"
	roleLoop   = "loop" // a busy loop beside the experiment
)

// playRole does not return in a process that has a role.
func playRole() {
	var err error
	switch role := os.Getenv(roleVariable); role {
	case "":
		return
	case roleServer:
		err = serve(os.Args[1:])
	case roleWorker:
		err = handleJobs()
	case roleProbe:
		err = runProbe()
	case roleLoop:
		go endWithStdin()
		for { //nolint:staticcheck // it is there to use a core
		}
	default:
		err = fmt.Errorf("no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cpu_latency:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a program that the experiment has started.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	addr  string // address of a server or node
	data  string // data directory of a node
}

// spawn starts a program, or this program in a role.
func spawn(role string, argv ...string) (*process, error) {
	if role != "" {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		argv = append([]string{self}, argv...)
	}
	p := &process{cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p.stdin = stdin
	return p, nil
}

// startServer starts a program whose first line of output is its address.
func startServer(role string, argv ...string) (*process, error) {
	p, err := spawn(role, argv...)
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("cpu_latency: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	addr, found := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if err != nil || !found {
		p.end()
		return nil, fmt.Errorf("cpu_latency: %s says %q, %w: want where it listens", p.cmd, line, err)
	}
	p.addr = addr
	return p, nil
}

// startLoop starts a busy loop.
func startLoop() (*process, error) {
	p, err := spawn(roleLoop)
	if err == nil {
		err = p.cmd.Start()
	}
	return p, err
}

// end ends the process and its children.
func (p *process) end() {
	_ = p.stdin.Close()
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait() // its exit status is not used
}

// family returns the PIDs of the process and its children.
func (p *process) family() []int {
	pids := []int{p.cmd.Process.Pid}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pids[0]) { // its parent, proc_pid_stat(5)
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
