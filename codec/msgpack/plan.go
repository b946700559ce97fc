package msgpack

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// plan is how a struct type is written and read.
type plan struct {
	fields []planField           // in the order in which they are written
	byName map[string]*planField // aliases included
	err    error                 // a tag that cannot be obeyed
}

type planField struct {
	name      string
	index     []int // through embedded structs
	omitEmpty bool
}

var plans sync.Map // reflect.Type of a struct -> *plan

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
	if err := c.add(t, nil); err != nil {
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
		if len(f.index) == shallowest[f.name] && p.byName[f.name] == nil { // a deeper field of that name is hidden
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

// planner collects the fields of a struct and of those it embeds.
type planner struct {
	fields   []planField
	aliases  map[string]string     // to names
	embedded map[reflect.Type]bool // on the way to the struct at hand: a type that embeds itself ends there
}

func (c *planner) add(t reflect.Type, at []int) error {
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
				if err := c.add(inner, index); err != nil {
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

// parseTag reads the msgpack tag of f, or its json tag if it has none.
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
		case !own || o == "" || o == "inline": // of json's options only omitempty matters here
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

// find returns the field at index of a struct, false if it lies behind an embedded pointer that is nil.
func find(v reflect.Value, index []int) (reflect.Value, bool) {
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

// findOrMake is find for reading: it allocates what embedded pointers should point to.
func findOrMake(v reflect.Value, index []int) (reflect.Value, error) {
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
