package config

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"example.com/ferry/internal/duration"
)

//go:generate go test . -run TestSchema|TestFields -update

// Schema is the JSON Schema of a configuration file, for editors. It is made from Config.
//
//go:embed ferry.schema.json
var Schema []byte

const sizePattern = `^[0-9]+ ?(B|KiB|MiB|GiB|kB|MB|GB)?$`

// patternHint is what to say about text that does not match a pattern.
var patternHint = map[string]string{
	duration.Pattern: "is not a duration: write 100ms, 10s, 1m30s or 7d",
	sizePattern:      "is not a size: write 512, 64KiB or 1MiB",
}

var compiled = sync.OnceValue(func() *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema))
	if err != nil {
		panic(err) // the embedded file is ours, and TestSchema compiles it
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("ferry.schema.json", doc); err != nil {
		panic(err)
	}
	return c.MustCompile("ferry.schema.json")
})

// checkSchema returns all places where raw, the document as plain values, differs from the schema.
func (s *Source) checkSchema(raw any) Errors {
	err := compiled().Validate(raw)
	if err == nil {
		return nil
	}
	failed, ok := err.(*jsonschema.ValidationError) //nolint:errorlint // Validate documents this type, unwrapped
	if !ok {
		return Errors{{File: s.Name(), Reason: err.Error()}}
	}
	return s.explain(failed)
}

func (s *Source) explain(v *jsonschema.ValidationError) Errors {
	if len(v.Causes) > 0 {
		var errs Errors
		for _, c := range v.Causes {
			errs = append(errs, s.explain(c)...)
		}
		return errs
	}
	at := slices.Concat(s.prefix, v.InstanceLocation)
	switch k := v.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		var errs Errors
		for _, name := range k.Properties {
			errs = append(errs, s.errorAtKey(append(slices.Clone(at), name), "unknown field"+advice(at, name)))
		}
		return errs
	case *kind.Required:
		return Errors{s.errorAtValue(at, fmt.Sprintf("missing field %s", strings.Join(k.Missing, ", ")))}
	case *kind.Enum:
		var want []string
		for _, w := range k.Want {
			want = append(want, fmt.Sprint(w))
		}
		return Errors{s.errorAtValue(at, fmt.Sprintf("%q is not one of %s%s", fmt.Sprint(k.Got), strings.Join(want, ", "), closest(fmt.Sprint(k.Got), want)))}
	case *kind.Pattern:
		return Errors{s.errorAtValue(at, fmt.Sprintf("%q %s", k.Got, patternHint[k.Want]))}
	case *kind.Type:
		return Errors{s.errorAtValue(at, fmt.Sprintf("%s where %s is expected%s", k.Got, strings.Join(k.Want, " or "), typeHint(k)))}
	default:
		return Errors{s.errorAtValue(at, k.LocalizedString(message.NewPrinter(language.English)))}
	}
}

// advice returns what to write instead of the unknown field name of the object at path.
func advice(path []string, name string) string {
	if name == "engine" && len(path) == 2 && path[0] == "streams" {
		return ": all streams have one engine: write engine: {address: memory} or engine: {address: embedded} at the top of the file"
	}
	if name == "listen" && len(path) == 1 && path[0] == "engine" {
		return ": NATS clients reach streams at a NATS server, which engine: {address: nats://HOST:PORT} uses"
	}
	if name == "drain_timeout" && len(path) == 1 && path[0] == "limits" {
		return ": write drain: {timeout: 10s} at the top of the file"
	}
	return suggest(name, fieldsAt(path))
}

func typeHint(k *kind.Type) string {
	switch {
	case k.Got == "null":
		return ": write a value or leave the line out"
	case slices.Equal(k.Want, []string{"string"}) && (k.Got == "number" || k.Got == "boolean"):
		return `: put it in quotes, and give a duration its unit ("10s")`
	}
	return ""
}

// fieldsAt returns the field names that the schema has for the object at path.
func fieldsAt(path []string) []string {
	s := compiled()
	for _, step := range path {
		if next := s.Properties[step]; next != nil {
			s = next
			continue
		}
		if items, ok := s.Items2020, s.Items2020 != nil; ok {
			s = items
		}
	}
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
