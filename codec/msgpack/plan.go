package msgpack

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// plan tells how to encode and decode a struct type.
type plan struct {
	fields []planField           // fields in the order in which they are written
	byName map[string]*planField // fields by their names and aliases
	err    error                 // error in a struct tag
}

type planField struct {
	name      string
	index     []int // indices of the embedded structs on the way to the field, then of the field
	omitEmpty bool
}

var plans sync.Map // maps the reflect.Type of a struct to its *plan

func planOf(t reflect.Type) (*plan, error) {
	known, ok := plans.Load(t)
	if !ok {
		known, _ = plans.LoadOrStore(t, newPlan(t))
	}
	p := known.(*plan)
	return p, p.err
}

func newPlan(t reflect.Type) *plan {
	c := planner{aliases: map[string]string{}, embedded: map[reflect.Type]bool{}}
	if err := c.addFields(t, nil); err != nil {
		return &plan{err: err}
	}
	p := &plan{byName: map[string]*planField{}}
	shallowest := map[string]int{}
	for _, f := range c.fields {
		if depth, ok := shallowest[f.name]; !ok || len(f.index) < depth {
			shallowest[f.name] = len(f.index)
		}
	}
	for _, f := range c.fields {
		if len(f.index) == shallowest[f.name] && p.byName[f.name] == nil { // an embedded field of the same name at a deeper level is hidden
			p.fields = append(p.fields, f)
			p.byName[f.name] = &planField{}
		}
	}
	for i := range p.fields {
		p.byName[p.fields[i].name] = &p.fields[i]
	}
	for alias, name := range c.aliases {
		if p.byName[alias] == nil {
			p.byName[alias] = p.byName[name]
		}
	}
	return p
}

// planner collects the fields of a struct and of its embedded structs.
type planner struct {
	fields   []planField
	aliases  map[string]string     // maps an alias to the name of the field
	embedded map[reflect.Type]bool // structs around the current one; a type that embeds itself is not entered again
}

func (c *planner) addFields(t reflect.Type, at []int) error {
	c.embedded[t] = true
	defer delete(c.embedded, t)
	for i := range t.NumField() {
		f := t.Field(i)
		tag, err := parseTag(t, f)
		if err != nil {
			return err
		}
		index := append(slices.Clip(at), i)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case tag.name == "-" || !f.IsExported() && !f.Anonymous:
		case f.Anonymous && !tag.noInline && inner.Kind() == reflect.Struct && !encodesItself(inner):
			if !c.embedded[inner] {
				if err := c.addFields(inner, index); err != nil {
					return err
				}
			}
		case f.IsExported():
			c.fields = append(c.fields, planField{tag.name, index, tag.omitEmpty})
			for _, alias := range tag.aliases {
				c.aliases[alias] = tag.name
			}
		}
	}
	return nil
}

type fieldTag struct {
	name                string
	omitEmpty, noInline bool
	aliases             []string
}

// parseTag parses the msgpack tag of f. Without one it parses the json tag.
func parseTag(t reflect.Type, f reflect.StructField) (fieldTag, error) {
	text, own := f.Tag.Lookup("msgpack")
	if !own || text == "" {
		text, own = f.Tag.Get("json"), false
	}
	name, options, _ := strings.Cut(text, ",")
	tag := fieldTag{name: name}
	if name == "" {
		tag.name = f.Name
	}
	for o := range strings.SplitSeq(options, ",") {
		alias, isAlias := strings.CutPrefix(o, "alias:")
		switch {
		case o == "omitempty":
			tag.omitEmpty = true
		case !own || o == "" || o == "inline": // omitempty is the only option of a json tag that matters here
		case o == "noinline":
			tag.noInline = true
		case isAlias:
			tag.aliases = append(tag.aliases, alias)
		default:
			return tag, fmt.Errorf("the tag of %v.%s has option %q: want omitempty, alias:NAME, inline or noinline", t, f.Name, o)
		}
	}
	return tag, nil
}

// fieldByIndex returns the field at index of a struct. If an embedded pointer on the way is nil, fieldByIndex returns false.
func fieldByIndex(v reflect.Value, index []int) (reflect.Value, bool) {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v, true
}

// fieldByIndexAlloc is fieldByIndex for decoding: it allocates the struct for an embedded pointer that is nil.
func fieldByIndexAlloc(v reflect.Value, index []int) (reflect.Value, error) {
	for i, n := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				if !v.CanSet() {
					return v, fmt.Errorf("an embedded %v cannot be set, as its type is not exported", v.Type())
				}
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v, nil
}
