package config

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/ferry/internal/duration"
	"example.com/ferry/internal/levenshtein"
)

//go:generate go test . -run TestSchema|TestFields -update

// Schema is the JSON Schema of a configuration file, for editors. It is made from Config.
//
//go:embed ferry.schema.json
var Schema []byte

const sizePattern = `^[0-9]+ ?(B|KiB|MiB|GiB|kB|MB|GB)?$`

// patterns has each pattern of the schema, and what to say about text that does not match it.
var patterns = map[string]struct {
	*regexp.Regexp
	hint string
}{
	duration.Pattern: {regexp.MustCompile(duration.Pattern), "is not a duration: write 100ms, 10s, 1m30s or 7d"},
	sizePattern:      {regexp.MustCompile(sizePattern), "is not a size: write 512, 64KiB or 1MiB"},
}

// schema is the part of JSON Schema that ferry.schema.json uses: what a value may be. An object has no fields but those named.
type schema struct {
	Types      types              `json:"type"`
	Enum       []string           `json:"enum"`
	Pattern    string             `json:"pattern"` // a key of patterns
	Minimum    *float64           `json:"minimum"`
	Items      *schema            `json:"items"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Others     others             `json:"additionalProperties"`
}

// types are the types of a value: one name, or a list.
type types []string

func (t *types) UnmarshalJSON(text []byte) error {
	if text[0] == '[' {
		return json.Unmarshal(text, (*[]string)(t))
	}
	*t = types{""}
	return json.Unmarshal(text, &(*t)[0])
}

// others is the schema of fields with any name; nil, in JSON false, if there are none.
type others struct{ *schema }

func (o *others) UnmarshalJSON(text []byte) error {
	if string(text) == "false" {
		return nil
	}
	return json.Unmarshal(text, &o.schema)
}

// compiled returns the schema of the whole file.
var compiled = sync.OnceValue(func() *schema {
	var of schema
	if err := json.Unmarshal(Schema, &of); err != nil {
		panic(err) // the embedded file is ours
	}
	return &of
})

// field returns the schema of a field of an object; nil if there is none.
func (of *schema) field(name string) *schema {
	switch {
	case of == nil:
		return nil
	case of.Properties[name] != nil:
		return of.Properties[name]
	}
	return of.Others.schema
}

// item returns the schema of the entries of a list; nil if there is none.
func (of *schema) item() *schema {
	if of == nil {
		return nil
	}
	return of.Items
}

// at returns the schema of the value at a path; nil if there is none.
func (of *schema) at(path []string) *schema {
	for _, step := range path {
		if next := of.field(step); next != nil {
			of = next
		} else {
			of = of.item()
		}
	}
	return of
}

// allows returns whether v, whose type has this name, has one of the types.
func (t types) allows(v any, name string) bool {
	if slices.Contains(t, name) {
		return true
	}
	number, _ := numberOf(v)
	return name == "number" && slices.Contains(t, "integer") && math.Trunc(number) == number
}

// typeOf returns JSON Schema's name for the type of a value.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return "infinity or NaN"
	}
	return "number"
}

// numberOf returns a number as the YAML library and encoding/json decode it.
func numberOf(v any) (number float64, ok bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		number, _ = v.Float64() // infinite if it is out of range
		return number, true
	}
	return 0, false
}

// checkSchema returns all places where v, the value at path, differs from its schema.
func (s *Source) checkSchema(of *schema, v any, path []string) (errs Errors) {
	wrong := func(reason string, args ...any) {
		errs = append(errs, s.errorAtValue(path, fmt.Sprintf(reason, args...)))
	}
	name := typeOf(v)
	if !of.Types.allows(v, name) {
		wrong("%s where %s is expected%s", name, strings.Join(of.Types, " or "), typeHint(name, of.Types))
		return errs
	}
	switch v := v.(type) {
	case map[string]any:
		missing := slices.DeleteFunc(slices.Clone(of.Required), func(name string) bool { _, has := v[name]; return has })
		if len(missing) > 0 {
			wrong("missing field %s", strings.Join(missing, ", "))
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			at := slices.Concat(path, []string{name})
			if field := of.field(name); field != nil {
				errs = append(errs, s.checkSchema(field, v[name], at)...)
			} else {
				errs = append(errs, s.errorAtKey(at, "unknown field"+suggest(name, slices.Sorted(maps.Keys(of.Properties)))))
			}
		}
	case []any:
		for i, entry := range v {
			errs = append(errs, s.checkSchema(of.Items, entry, append(path, strconv.Itoa(i)))...)
		}
	case string:
		if of.Enum != nil && !slices.Contains(of.Enum, v) {
			wrong("%q is not one of %s%s", v, strings.Join(of.Enum, ", "), closest(v, of.Enum))
		}
		if p := patterns[of.Pattern]; p.Regexp != nil && !p.MatchString(v) {
			wrong("%q %s", v, p.hint)
		}
	default:
		if number, ok := numberOf(v); ok && of.Minimum != nil && number < *of.Minimum {
			wrong("%v is less than %v", v, *of.Minimum)
		}
	}
	return errs
}

func typeHint(got string, want types) string {
	switch {
	case got == "null":
		return ": write a value or leave the line out"
	case slices.Equal(want, types{"string"}) && (got == "number" || got == "boolean"):
		return `: put it in quotes, and give a duration its unit ("10s")`
	}
	return ""
}

// suggest returns `: did you mean "x"?` for the known name closest to got, or a list of what there is.
func suggest(got string, known []string) string {
	if near := closest(got, known); near != "" {
		return near
	}
	return ": want one of " + strings.Join(known, ", ")
}

// closest returns `: did you mean "x"?` for the known name closest to got, or "" if none is similar.
func closest(got string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		d := levenshtein.Distance(strings.ToLower(got), k)
		if strings.ReplaceAll(strings.ToLower(got), "-", "_") == k || k == got+"s" || got == k+"s" {
			d = 0
		}
		if d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return `: did you mean "` + best + `"?`
}
