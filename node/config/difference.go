package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"example.com/ferry/proxy"
)

// Difference is one difference between the configuration that a node runs and the next one.
type Difference struct {
	Section string `json:"section"`         // listeners
	Entry   string `json:"entry,omitempty"` // the address or name of an entry of a list, without secrets: tcp://127.0.0.1:4190
	Field   string `json:"field,omitempty"` // validate; empty if the entry as a whole, or the section, is added or removed
	At      string `json:"at"`              // as errors name it: listeners[0].validate, by the next configuration unless it was removed
	Kind    Kind   `json:"kind"`
	Was     string `json:"was,omitempty"` // short values, without secrets
	Is      string `json:"is,omitempty"`
	Effect  Effect `json:"effect"`
	Note    string `json:"note,omitempty"` // Note or Gone of the Rule
}

// Kind is the kind of a Difference.
type Kind string

// The values of Kind.
const (
	Added   Kind = "added"
	Removed Kind = "removed"
	Changed Kind = "changed"
)

// Differences returns what is different in next, in the order of the fields of Config. From which files it comes is no difference.
func (c *Config) Differences(next *Config) []Difference {
	d := differences{}
	d.walk(place{}, sides{reflect.ValueOf(*c), reflect.ValueOf(*next), reflect.ValueOf(*c.Redacted()), reflect.ValueOf(*next.Redacted())})
	return d.list
}

// Restarts returns the fields in which next differs from c and that need a restart: At and Section of a Difference.
func (c *Config) Restarts(next *Config) (fields []Difference) {
	was, is := reflect.ValueOf(*c), reflect.ValueOf(*next)
	d := differences{restarts: true}
	d.walk(place{}, sides{was, is, was, is})
	for _, each := range d.list {
		if each.Effect == NeedsRestart {
			fields = append(fields, Difference{Section: each.Section, At: each.At, Effect: each.Effect}) // the others have secrets
		}
	}
	return fields
}

// differences collects the differences of two configurations.
type differences struct {
	list     []Difference
	restarts bool // those that need no restart are not looked for
}

// place is where a value is.
type place struct {
	rule, at     string // listeners[].validate, listeners[0].validate
	entry, field string // of the innermost entry of a list
}

func (p place) below(name string) place {
	return place{join(p.rule, name), join(p.at, name), p.entry, join(p.field, name)}
}

func (p place) section() string {
	section, _, _ := strings.Cut(p.rule, ".")
	return strings.TrimSuffix(section, "[]")
}

// sides are a value of both configurations, and without secrets.
type sides struct{ was, is, shownWas, shownIs reflect.Value }

// each applies do to all that are valid.
func (s sides) each(do func(reflect.Value) reflect.Value) sides {
	return sides{do(s.was), do(s.is), do(s.shownWas), do(s.shownIs)}
}

func (d *differences) add(p place, kind Kind, s sides) {
	r := RuleOf(p.rule)
	made := Difference{Section: p.section(), Entry: p.entry, Field: p.field, At: p.at, Kind: kind, Effect: r.Effect, Note: r.Note}
	if kind != Changed && r.Effect == Restarts { // there is nothing to restart
		made.Effect = Applies
	}
	switch kind {
	case Added:
		made.Note = ""
	case Removed:
		made.Note = r.Gone
	}
	if p.entry == "" { // the section is a part of the field already
		made.Field = strings.TrimPrefix(strings.TrimPrefix(p.field, made.Section), ".")
	}
	if kind == Changed {
		if made.Was, made.Is = short(s.shownWas), short(s.shownIs); made.Was == made.Is { // a secret
			made.Was, made.Is = "", ""
		}
	}
	d.list = append(d.list, made)
}

// walk compares the values at a place.
func (d *differences) walk(p place, s sides) {
	if d.restarts && p.rule != "" && !mayRestart(p.rule) {
		return
	}
	kind := s.was.Kind()
	routes := d.restarts && s.was.Type() == reflect.TypeFor[[]proxy.Listener]() // has thousands of routes, which need no restart
	if kind != reflect.Struct && kind != reflect.Pointer && !routes && reflect.DeepEqual(s.was.Interface(), s.is.Interface()) {
		return
	}
	switch kind {
	case reflect.Pointer:
		switch {
		case s.was.IsNil() && s.is.IsNil():
		case s.was.IsNil():
			d.add(p, Added, s)
		case s.is.IsNil():
			d.add(p, Removed, s)
		default:
			d.walk(p, s.each(reflect.Value.Elem))
		}
	case reflect.Struct:
		for i := range s.was.NumField() {
			f := s.was.Type().Field(i)
			name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			at := p
			switch {
			case !f.IsExported() || name == "-" || p.at == "" && name == "include" || name == "routes_file":
				continue
			case options != "inline":
				at = p.below(name)
			}
			d.walk(at, s.each(func(v reflect.Value) reflect.Value { return v.Field(i) }))
		}
	case reflect.Slice:
		was, is := keysOf(p.rule, s.was), keysOf(p.rule, s.is)
		if was == nil || is == nil {
			if s.was.Type().Elem().Kind() == reflect.Struct {
				p.rule += "[]"
			}
			d.add(p, Changed, s)
			return
		}
		d.entries(p, s, was, is)
	default:
		d.add(p, Changed, s)
	}
}

// entries compares the entries of a list by their keys.
func (d *differences) entries(p place, s sides, was, is []string) {
	outer := strings.TrimPrefix(strings.TrimPrefix(p.field, p.section()), ".") // listeners of proxy
	if outer != "" {
		outer += " "
	}
	if p.entry != "" { // a list within an entry
		outer = p.entry + " " + outer
	}
	entry := func(i int, key string) place {
		return place{p.rule + "[]", fmt.Sprintf("%s[%d]", p.at, i), outer + key, ""}
	}
	inWas, inIs := indices(was), indices(is)
	for i, key := range was {
		if _, stays := inIs[key]; !stays {
			d.add(entry(i, keyOf(p.rule, s.shownWas.Index(i))), Removed, s)
		}
	}
	var stay []string
	for i, key := range is {
		k, known := inWas[key]
		if !known {
			d.add(entry(i, keyOf(p.rule, s.shownIs.Index(i))), Added, s)
			continue
		}
		stay = append(stay, key)
		d.walk(entry(i, keyOf(p.rule, s.shownWas.Index(k))), sides{s.was.Index(k), s.is.Index(i), s.shownWas.Index(k), s.shownIs.Index(i)})
	}
	common := slices.DeleteFunc(slices.Clone(was), func(key string) bool {
		_, stays := inIs[key]
		return !stays
	})
	if p.section() == "proxy" && !slices.Equal(common, stay) { // elsewhere the order means nothing
		d.add(p.below("order"), Changed, s.each(func(reflect.Value) reflect.Value { return reflect.Value{} }))
	}
}

// keysOf returns what tells the entries of a list apart: their addresses or names. It returns nil if they cannot be told apart.
func keysOf(list string, v reflect.Value) []string {
	if v.Type().Elem().Kind() != reflect.Struct {
		return nil
	}
	keys, seen := make([]string, 0, v.Len()), map[string]bool{}
	for i := range v.Len() {
		key := keyOf(list, v.Index(i))
		if key == "" || seen[key] {
			return nil
		}
		keys, seen[key] = append(keys, key), true
	}
	return keys
}

// indices returns where each key is.
func indices(keys []string) map[string]int {
	at := make(map[string]int, len(keys))
	for i, key := range keys {
		at[key] = i
	}
	return at
}

// keyOf returns the address, name or service of an entry of a list; empty if it has none.
func keyOf(list string, entry reflect.Value) string {
	address, name := entry.FieldByName("Address"), entry.FieldByName("Name")
	if list == "serve" {
		name = entry.FieldByName("Service")
	}
	switch {
	case strings.HasSuffix(list, "listeners") && address.IsValid():
		key := address.String()
		if name.IsValid() && name.String() != "" && strings.HasSuffix(key, ":0") { // only the name tells these apart
			key = name.String()
		}
		return key
	case name.IsValid() && name.Kind() == reflect.String:
		return name.String()
	}
	return ""
}

// maxShort bounds the values in a Difference, in bytes.
const maxShort = 80

// short returns a value as text; empty if it is long, or has parts with names.
func short(v reflect.Value) string {
	if !v.IsValid() {
		return ""
	}
	kind := v.Kind()
	if kind == reflect.Slice {
		kind = v.Type().Elem().Kind()
	}
	if kind == reflect.Struct || kind == reflect.Pointer || kind == reflect.Map || kind == reflect.Interface {
		return ""
	}
	text := fmt.Sprint(v.Interface())
	if len(text) > maxShort {
		return ""
	}
	return text
}

func join(parent, name string) string {
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// Changed returns the fields of a section in which next differs from c: limits.queue for section limits. A list counts as one
// field.
func (c *Config) Changed(next *Config, section string) []string {
	a, b := reflect.ValueOf(*c), reflect.ValueOf(*next)
	for i := range a.NumField() {
		if yamlName(a.Type().Field(i)) == section {
			return changed(section, a.Field(i), b.Field(i))
		}
	}
	panic("config: there is no section " + section)
}

func changed(at string, a, b reflect.Value) []string {
	if reflect.DeepEqual(a.Interface(), b.Interface()) {
		return nil
	}
	if a.Kind() != reflect.Struct {
		return []string{at}
	}
	var all []string
	for i := range a.NumField() {
		all = append(all, changed(at+"."+yamlName(a.Type().Field(i)), a.Field(i), b.Field(i))...)
	}
	return all
}

func yamlName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}
