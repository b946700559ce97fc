package pubsub

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/ferry/bench/internal/child"
	"example.com/ferry/bench/internal/ferrynode"
)

// config is the configuration file of the node. All other fields have their defaults.
const config = `listeners:
  - address: %s://%s
    validate: %s
    insecure: %t
admin:
  address: %s
data_dir: %s
`

// startFerry starts the shipped binary.
// forwardTo is the address of the node that gets its messages; empty if there is none.
func (c *Run) startFerry(addr, data, admin, forwardTo string) (*child.Process, error) {
	s := c.setup
	scheme := strings.TrimPrefix(string(s.System), "ferry ")
	validate := s.Validate
	if validate == "" {
		validate = "full"
	}
	text := fmt.Sprintf(config, scheme, addr, validate, s.NodeNS != "" && s.System == FerryTCP, admin, data)
	if forwardTo != "" {
		text += c.forwarding(scheme, forwardTo)
	}
	return c.runFerry(text)
}

// runFerry starts the binary with a configuration.
func (c *Run) runFerry(text string) (*child.Process, error) {
	file, err := os.CreateTemp(c.dir, "node-*.yaml")
	if err != nil {
		return nil, err
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return child.Program(c.setup.NodeNS, "ferry run", filepath.Join(c.setup.Dir, ferrynode.Binary), "run", "-c", file.Name())
}

// meter reads how many bytes a ferry node has allocated. It subtracts the allocations that the readings themselves cause.
type meter struct {
	admin string
	each  uint64 // bytes that the node allocates for one reading
	count uint64 // readings so far
}

// read calibrates itself the first time.
func (m *meter) read() (float64, error) {
	var last [2]uint64
	for range 3 { // the first one opens a connection
		now, err := allocated(m.admin)
		if err != nil {
			return 0, err
		}
		last = [2]uint64{last[1], now}
		m.count++
		if m.each != 0 {
			break
		}
	}
	if m.each == 0 {
		m.each = last[1] - last[0]
	}
	return float64(last[1]) - float64(m.count*m.each), nil
}

// allocated asks a ferry node how many bytes it has allocated so far. The heap profile has the count of runtime.ReadMemStats, which is
// exact. The metric of the Go collector lags: the runtime counts small objects there when the span that they share is full.
func allocated(admin string) (uint64, error) {
	return number(admin, "/debug/pprof/heap?debug=1", "# TotalAlloc = ")
}

// metric reads a metric without labels of a ferry node.
func metric(admin, name string) (uint64, error) { return number(admin, "/metrics", name+" ") }

// number reads the number behind prefix, at the start of a line, from a page of a ferry node's admin server.
func number(admin, page, prefix string) (uint64, error) {
	req, err := http.NewRequest(http.MethodGet, "http://"+admin+page, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Accept-Encoding", "identity") // compression allocates a varying amount of memory
	resp, err := (&http.Client{Timeout: patience}).Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	value := ""
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() { // to the end, so that the connection is used again
		if v, ok := strings.CutPrefix(lines.Text(), prefix); ok {
			value = v
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	if value == "" {
		return 0, fmt.Errorf("pubsub: %s has no line that begins with %q", resp.Request.URL, prefix)
	}
	f, err := strconv.ParseFloat(value, 64)
	return uint64(f), err
}
