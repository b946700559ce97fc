package discovery

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"example.com/ferry/internal/yamlread"
)

const (
	maxFile   = 1 << 20 // bytes
	maxListed = 10_000  // endpoints in a file
	maxWeight = 1000
)

// ReadFile reads a file that lists endpoints: one in each line, as its address and, after a space, its weight; or a YAML list of
// addresses, or of mappings with address and weight. An address is IP:PORT, or unix: and a path. A weight is 1 to 1000; without
// one it is 1. In both forms, # begins a comment. A file without endpoints is an error, because it has most likely been cut
// off.
//
//	192.0.2.1:80           - 192.0.2.1:80
//	192.0.2.2:80 3         - {address: 192.0.2.2:80, weight: 3}
func ReadFile(path string) ([]Endpoint, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: more than %d bytes", path, maxFile)
	}
	list, err := parseList(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// listed is an endpoint in a file.
type listed struct {
	Address string `yaml:"address"`
	Weight  *int   `yaml:"weight"`

	where string // the line or the number in the list
}

// UnmarshalYAML reads an address, or a mapping with address and weight.
func (l *listed) UnmarshalYAML(unmarshal func(any) error) error {
	if err := unmarshal(&l.Address); err == nil {
		return nil
	}
	type mapping listed
	return unmarshal((*mapping)(l))
}

// parseList parses the content of a file.
func parseList(data []byte) ([]Endpoint, error) {
	entries, err := parseEntries(data)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, errors.New("no endpoints: write an address in each line")
	}
	if len(entries) > maxListed {
		return nil, fmt.Errorf("%d endpoints: %d is the most", len(entries), maxListed)
	}
	list := make([]Endpoint, len(entries))
	first := map[string]string{}
	for i, l := range entries {
		e, err := l.endpoint()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", l.where, err)
		}
		if before, ok := first[e.Addr]; ok {
			return nil, fmt.Errorf("%s: %s is listed already, in %s: give that one a weight", l.where, e.Addr, before)
		}
		list[i], first[e.Addr] = e, l.where
	}
	return list, nil
}

// parseEntries tells YAML from lines: no address begins like a list of YAML.
func parseEntries(data []byte) ([]listed, error) {
	var all []listed
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(all) == 0 && (fields[0][0] == '-' || strings.HasPrefix(fields[0], "[") && !addressLike(fields[0])) {
			return parseYAML(data)
		}
		l := listed{Address: fields[0], where: "line " + strconv.Itoa(i+1)}
		switch len(fields) {
		case 1:
		case 2:
			weight, err := strconv.Atoi(fields[1])
			if err != nil {
				return nil, fmt.Errorf("%s: weight %q is not a number", l.where, fields[1])
			}
			l.Weight = &weight
		default:
			return nil, fmt.Errorf("%s: write an address and, after a space, a weight", l.where)
		}
		all = append(all, l)
	}
	return all, nil
}

// addressLike reports whether s is an address of IPv6, such as [::1]:80.
func addressLike(s string) bool {
	_, err := netip.ParseAddrPort(s)
	return err == nil
}

func parseYAML(data []byte) ([]listed, error) {
	var all []listed
	err := yamlread.Do(func() error { return yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&all) })
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n") // the rest quotes the file
		return nil, fmt.Errorf("write a list of addresses, or of mappings with address and weight: %s", text)
	}
	for i := range all {
		all[i].where = "endpoint " + strconv.Itoa(i+1)
	}
	return all, nil
}

func (l *listed) endpoint() (Endpoint, error) {
	e := Endpoint{Addr: l.Address, Weight: 1}
	if l.Weight != nil {
		e.Weight = *l.Weight
	}
	if e.Weight < 1 || e.Weight > maxWeight {
		return e, fmt.Errorf("weight %d: give 1 to %d", e.Weight, maxWeight)
	}
	if path, ok := strings.CutPrefix(l.Address, "unix:"); ok && path != "" {
		return e, nil
	}
	at, err := netip.ParseAddrPort(l.Address)
	if err != nil || at.Port() == 0 {
		return e, fmt.Errorf("%q: write IP:PORT, or unix: and a path", l.Address)
	}
	e.Addr = netip.AddrPortFrom(at.Addr().Unmap(), at.Port()).String()
	return e, nil
}
