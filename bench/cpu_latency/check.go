//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// checkResponses requests jobs from the servers of each row, and compares the checksums and the number of units.
func (e *experiment) checkResponses() error {
	for _, r := range rows {
		for _, l := range []load{loads[0], loads[3]} { // the second one has the long jobs
			if !r.in(l) {
				continue
			}
			server, path, err := r.start(e.dir, l)
			if err != nil {
				return err
			}
			err = checkServer(server.addr, path, r.name == alone)
			server.end()
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	return nil
}

// checkNode runs jobs in a node's function, for each row: the prober compares the checksums.
func (e *experiment) checkNode() error {
	l := loads[len(loads)-1]
	for _, r := range rows {
		if !r.in(l) {
			continue
		}
		if _, err := e.measureNode(r, l, 200*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// checkServer requests the job at path; and the short and the allocating job from servers that have them.
func checkServer(addr, path string, idle bool) error {
	if text, err := get(addr, "/delay1ms"); err != nil || text != "done\n" {
		return fmt.Errorf("/delay1ms: %q, %w", text, err)
	}
	units := uint64(0)
	paths := []string{path}
	if !strings.HasPrefix(path, "/checksum") {
		paths = append(paths, "/short", "/allocating")
	}
	for _, path := range paths {
		if idle {
			break
		}
		text, err := get(addr, path)
		if err != nil {
			return err
		}
		n, sum := 0, uint32(0)
		if _, err := fmt.Sscanf(text, responseFormat, &n, &sum); err != nil || n < shortUnits {
			return fmt.Errorf("%s: %q, %w", path, text, err)
		}
		unit, want := checksum, uint32(0)
		if path == "/allocating" {
			unit = allocate
		}
		for range n {
			want = unit(want)
		}
		if sum != want {
			return fmt.Errorf("%s: %d units give %08x, want %08x", path, n, sum, want)
		}
		units += uint64(n)
	}
	text, err := get(addr, "/stats")
	if err != nil {
		return err
	}
	var s stats
	if err := json.Unmarshal([]byte(text), &s); err != nil || s.Checksums != units {
		return fmt.Errorf("/stats: %q, %w: want %d checksums", text, err, units)
	}
	return nil
}

func get(addr, path string) (string, error) {
	client := http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	response, err := client.Get("http://" + addr + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, response.Status, body)
	}
	return string(body), err
}
