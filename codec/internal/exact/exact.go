package exact

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// Rules describe a codec.
type Rules struct {
	Format    format.Format
	Tags      []string // struct tags; the first that a field has is its key
	LowerCase bool     // the key of a field without a tag is its name in lower case
	FoldCase  bool     // keys match fields in any case
	Decimal   bool     // the format writes fractions in decimal form, so that they may be rounded

	// MayRound reports whether data may have a whole number that a float64, or with single a float32, rounds. It is
	// fast, and true if in doubt.
	MayRound func(data []byte, single bool) bool

	fields sync.Map // maps a struct type to its fieldTypes
}

// fieldTypes maps the keys of a struct to the types of its fields, as they are and in lower case.
type fieldTypes struct{ exact, folded map[string]reflect.Type }

// Check returns an error if data has a number that a float in v rounds. data was decoded into v without an error. The cost
// is one map access for types without floats. Values of type any are not checked: the codec chooses their types.
func (r *Rules) Check(data []byte, v any) error {
	t := reflect.TypeOf(v)
	floats := floatsIn(t)
	if floats == none || !r.MayRound(data, floats&single != 0) {
		return nil
	}
	w := walk{Rules: r, data: data}
	err := r.Format.Walk(data, w.visit(t))
	var rounded *roundedError
	if errors.As(err, &rounded) {
		return rounded
	}
	return nil // other errors are of keys and values that have no place in v
}

type walk struct {
	*Rules
	data  []byte
	types []reflect.Type // of the variables for the containers around the value; nil if there is none
	steps []string
}

// visit returns the Visit function for a message that was decoded into t.
func (w *walk) visit(t reflect.Type) format.Visit {
	return func(step field.Step, depth int, s field.Span) error {
		target := t
		if depth > 0 {
			target = w.child(w.types[depth-1], step)
		}
		for target != nil && target.Kind() == reflect.Pointer && !decodesItself(target) {
			target = target.Elem()
		}
		if target == nil || floatsIn(target) == none {
			return format.SkipChildren
		}
		w.types, w.steps = append(w.types[:depth], target), append(w.steps[:depth], step.String())
		if target.Kind() == reflect.Float64 || target.Kind() == reflect.Float32 {
			return w.check(s, target)
		}
		return nil
	}
}

// child returns the type of the variable for the value that step leads to in t, or nil.
func (w *walk) child(t reflect.Type, step field.Step) reflect.Type {
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return t.Elem()
	case reflect.Struct:
		name := step.Name
		if step.Index >= 0 {
			name = strconv.Itoa(step.Index)
		}
		return w.fieldType(t, name)
	}
	return nil
}

// fieldType returns the type of the field of t that has the key name, or nil.
func (r *Rules) fieldType(t reflect.Type, name string) reflect.Type {
	known, ok := r.fields.Load(t)
	if !ok {
		known, _ = r.fields.LoadOrStore(t, r.fieldTypes(t))
	}
	types := known.(*fieldTypes)
	if found := types.exact[name]; found != nil || !r.FoldCase {
		return found
	}
	return types.folded[strings.ToLower(name)]
}

// fieldTypes returns the keys of t. Of several fields with one key, the one in the fewest embedded structs counts.
func (r *Rules) fieldTypes(t reflect.Type) *fieldTypes {
	types := &fieldTypes{map[string]reflect.Type{}, map[string]reflect.Type{}}
	depths := map[string]int{}
	for _, f := range reflect.VisibleFields(t) {
		key := r.key(f)
		if !f.IsExported() || f.Anonymous && key == f.Name {
			continue
		}
		if depth, taken := depths[key]; taken && depth <= len(f.Index) {
			continue
		}
		depths[key] = len(f.Index)
		types.exact[key], types.folded[strings.ToLower(key)] = f.Type, f.Type
	}
	return types
}

// key returns the key of the field f.
func (r *Rules) key(f reflect.StructField) string {
	for _, tag := range r.Tags {
		if text, ok := f.Tag.Lookup(tag); ok {
			if name, _, _ := strings.Cut(text, ","); name != "" {
				return name
			}
			break
		}
	}
	if r.LowerCase && !f.Anonymous {
		return strings.ToLower(f.Name)
	}
	return f.Name
}

// roundedError is a number that a float variable rounds.
type roundedError struct{ number, path, as string }

func (e *roundedError) Error() string {
	if e.path == "" {
		return fmt.Sprintf("%s is no %s", e.number, e.as)
	}
	return fmt.Sprintf("%s is no %s, in %s", e.number, e.as, e.path)
}

// check returns a *roundedError if a variable of type t rounds the number at s.
func (w *walk) check(s field.Span, t reflect.Type) error {
	v, err := w.Format.Value(w.data, s, field.AnyType)
	if err != nil {
		n, isReader := w.Format.(format.NumberReader)
		if !isReader {
			return nil
		}
		var ok bool
		if v, ok = n.Number(w.data, s); !ok {
			return nil
		}
	}
	if v.Kind != field.Int && v.Kind != field.Float || w.holds(&v, s.Kind, t.Kind() == reflect.Float32) {
		return nil
	}
	return &roundedError{text(&v), strings.Join(w.steps[1:], "."), t.String()}
}

// holds reports whether a float64, or with single a float32, is equal to v.
func (w *walk) holds(v *field.Value, kind field.Kind, single bool) bool {
	f := v.Float
	switch whole, ok := v.WholeNumber(); {
	case ok && whole.Unsigned:
		if f = float64(uint64(whole.Int)); f >= 1<<64 || uint64(f) != uint64(whole.Int) {
			return false
		}
	case ok:
		if f = float64(whole.Int); f >= 1<<63 || int64(f) != whole.Int {
			return false
		}
	case kind == field.Float && w.Decimal:
		return true
	case len(v.Bytes) > 0:
		return false
	}
	return !single || f != f || float64(float32(f)) == f
}

func text(v *field.Value) string {
	switch {
	case len(v.Bytes) > 40:
		return string(v.Bytes[:40]) + "..."
	case len(v.Bytes) > 0:
		return string(v.Bytes)
	case v.Kind == field.Float:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case v.Unsigned:
		return strconv.FormatUint(uint64(v.Int), 10)
	}
	return strconv.FormatInt(v.Int, 10)
}
