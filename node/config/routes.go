package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"example.com/ferry/format"
	formatjson "example.com/ferry/format/json"
	"example.com/ferry/internal/pace"
	"example.com/ferry/proxy/route"
)

// MaxRoutesFile bounds a file of routes, in bytes.
const MaxRoutesFile = 256 << 20

// routesFile is a file that proxy.listeners[].routes_file names: a JSON object a line, each a route, or each a virtual host. They follow those of
// the YAML file.
type routesFile struct {
	name     string
	text     string
	listener int            // index in proxy.listeners
	first    int            // index of the file's first entry in the list of the listener
	entries  *decodedRoutes // nil before decodeRoutes
}

const routesList, hostsList = "routes", "virtual_hosts" // the lists that a file may have

// readRoutes reads the files of routes that the listeners name.
func (s *Source) readRoutes() {
	listeners, _, ok := s.lookup([]string{"proxy", "listeners"})
	if !ok || list(listeners) == nil {
		return
	}
	for i := range list(listeners).Values {
		at := []string{"proxy", "listeners", strconv.Itoa(i), "routes_file"}
		node, doc, ok := s.lookup(at)
		if !ok {
			continue
		}
		raw, _ := decode(node)
		name, _ := raw.(string)
		if name == "" {
			continue // the schema says what is wrong
		}
		name = doc.resolve(name)
		text, err := s.routesText(name)
		s.note(name, text)
		if err != nil {
			s.errs = append(s.errs, s.errorAtValue(at, err.Error()))
			continue
		}
		s.routes = append(s.routes, &routesFile{name: name, text: text, listener: i})
	}
}

// routesText returns the text of a file of routes.
func (s *Source) routesText(name string) (string, error) {
	if s.bundled == nil {
		return readText(name)
	}
	i := slices.IndexFunc(s.bundled, func(f File) bool { return f.Routes && f.Name == name })
	if i < 0 {
		return "", fmt.Errorf("%s is not one of the files that were sent", name)
	}
	return s.bundled[i].Text, nil
}

// decodeRoutes adds the entries of the files to the listeners of cfg.
func (s *Source) decodeRoutes(cfg *Config) (errs Errors) {
	next := map[string]*decodedRoutes{} // several listeners may name one file
	for i, f := range s.routes {
		if f.entries = next[f.name]; f.entries == nil {
			var wrong Errors
			f.entries, wrong = decodeRoutesFile(f, s.memory[f.name])
			for _, each := range wrong {
				each.order = len(s.docs) + i
			}
			errs = append(errs, wrong...)
			next[f.name] = f.entries
		}
		if l := &cfg.Proxy.Listeners[f.listener]; f.entries.list == hostsList {
			f.first = len(l.VirtualHosts)
			l.VirtualHosts = joined(l.VirtualHosts, f.entries.hosts)
		} else {
			f.first = len(l.Routes)
			l.Routes = joined(l.Routes, f.entries.routes)
		}
	}
	if errs == nil {
		s.memory = next
	}
	return errs
}

// joined is a followed by b, which itself is returned if a is empty: the next configuration then shares it.
func joined[T any](a, b []T) []T {
	if len(a) == 0 {
		return b
	}
	return slices.Concat(a, b)
}

// routesMemory has what the files of the last text were decoded to, by their names. The next configuration shares the entries whose lines stay, and
// neither may be changed.
type routesMemory map[string]*decodedRoutes

// decodedRoutes are the entries of one file.
type decodedRoutes struct {
	text    string
	list    string         // routes or virtual_hosts
	numbers []int          // lines of the entries, from 1
	places  map[string]int // index of each line
	routes  []route.Rule
	hosts   []route.VirtualHost
}

// maxRoutesErrors bounds the errors that are shown of a file.
const maxRoutesErrors = 20

// decodeRoutesFile decodes the entries of f, and takes those that were decoded before.
func decodeRoutesFile(f *routesFile, before *decodedRoutes) (d *decodedRoutes, errs Errors) {
	switch {
	case before == nil:
		before = &decodedRoutes{}
	case before.text == f.text:
		return before, nil
	}
	d = &decodedRoutes{text: f.text, places: map[string]int{}}
	for number, rest := 1, f.text; rest != "" && len(errs) < maxRoutesErrors; number++ {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if strings.TrimSpace(line) != "" {
			if wrong := d.add(line, before); wrong != nil {
				wrong.File, wrong.Line, wrong.Column = f.name, number, 1
				errs = append(errs, wrong)
			}
			d.places[line] = len(d.numbers)
			d.numbers = append(d.numbers, number)
		}
		pace.Step()
	}
	return d, errs
}

// add adds the entry of a line.
func (d *decodedRoutes) add(line string, before *decodedRoutes) *Error {
	if k, known := before.places[line]; known && (d.list == "" || d.list == before.list) {
		if d.list = before.list; d.list == hostsList {
			d.hosts = append(d.hosts, before.hosts[k])
		} else {
			d.routes = append(d.routes, before.routes[k])
		}
		return nil
	}
	if err := (formatjson.Format{}).Validate([]byte(line), format.Options{}); err != nil {
		return &Error{Reason: err.Error()}
	}
	var raw any
	values := json.NewDecoder(strings.NewReader(line))
	values.UseNumber()
	if err := values.Decode(&raw); err != nil {
		return &Error{Reason: err.Error()}
	}
	object, isObject := raw.(map[string]any)
	if !isObject {
		return &Error{Reason: "no object: a line has one route, or one virtual host"}
	}
	kind := routesList
	if _, is := object["hosts"]; is {
		kind = hostsList
	}
	if d.list = cmp.Or(d.list, kind); d.list != kind {
		return &Error{Reason: fmt.Sprintf("one of %s after lines with %s: a file has either routes, or virtual hosts with their routes", kind, d.list)}
	}
	within := []string{"proxy", "listeners", "0", kind, "0"}
	if errs := (&Source{docs: []*document{{}}}).checkSchema(compiled().at(within), raw, within); errs != nil {
		first := errs[0]
		first.Field = strings.TrimPrefix(strings.TrimPrefix(first.Field, dotted(within)), ".")
		return first
	}
	var wrong *unfit
	if kind == hostsList {
		d.hosts = append(d.hosts, route.VirtualHost{})
		wrong = fill(reflect.ValueOf(&d.hosts[len(d.hosts)-1]).Elem(), raw)
	} else {
		d.routes = append(d.routes, route.Rule{})
		wrong = fill(reflect.ValueOf(&d.routes[len(d.routes)-1]).Elem(), raw)
	}
	if wrong != nil {
		return &Error{Field: dotted(wrong.path), Reason: wrong.reason}
	}
	return nil
}

// inRoutes returns an error at the line of a file of routes that has the value at path, or nil if no such file has it.
func (s *Source) inRoutes(path []string, reason string) *Error {
	if len(path) < 5 || path[0] != "proxy" || path[1] != "listeners" {
		return nil
	}
	for i, f := range s.routes {
		at, err := strconv.Atoi(path[4])
		if err != nil || path[2] != strconv.Itoa(f.listener) || f.entries == nil || path[3] != f.entries.list || at < f.first || at-f.first >= len(f.entries.numbers) {
			continue
		}
		return &Error{File: f.name, Line: f.entries.numbers[at-f.first], Column: 1, Field: dotted(path), Reason: reason, order: len(s.docs) + i}
	}
	return nil
}

// withoutRoutesFiles removes the names of the files from the listeners of c, which have their routes.
func (c *Config) withoutRoutesFiles() {
	if c.Proxy != nil {
		for i := range c.Proxy.Listeners {
			c.Proxy.Listeners[i].RoutesFile = ""
		}
	}
}
