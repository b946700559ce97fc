package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"example.com/ferry/internal/duration"
)

// unfit is a value that a field cannot have.
type unfit struct {
	path   []string // of the field, below what fill was called for
	reason string
}

// at returns u for the parent of the field, which is called step there.
func (u *unfit) at(step string) *unfit {
	u.path = append([]string{step}, u.path...)
	return u
}

// fill sets to to a value of YAML or JSON as the library has read it. What raw does not name keeps its value. It is for values that the schema of
// to's type permits: it refuses those that are out of range, and the reasons for others are those of the schema.
func fill(to reflect.Value, raw any) *unfit {
	if raw == nil {
		return nil
	}
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	switch v := raw.(type) {
	case map[string]any:
		switch to.Kind() {
		case reflect.Struct:
			return fillStruct(to, v)
		case reflect.Map:
			return fillMap(to, v)
		}
	case []any:
		if to.Kind() == reflect.Slice {
			to.Set(reflect.MakeSlice(to.Type(), len(v), len(v)))
			for i, each := range v {
				if wrong := fill(to.Index(i), each); wrong != nil {
					return wrong.at(strconv.Itoa(i))
				}
			}
			return nil
		}
	case bool:
		if to.Kind() == reflect.Bool {
			to.SetBool(v)
			return nil
		}
	case string:
		return fillText(to, v)
	case json.Number, uint64, int64, float64:
		return fillText(to, fmt.Sprint(v))
	}
	return &unfit{reason: fmt.Sprintf("%v is no %s", raw, to.Kind())}
}

func fillStruct(to reflect.Value, fields map[string]any) *unfit {
	for i := range to.NumField() {
		name, options, _ := strings.Cut(to.Type().Field(i).Tag.Get("yaml"), ",")
		if options == "inline" {
			if wrong := fillStruct(to.Field(i), fields); wrong != nil {
				return wrong
			}
			continue
		}
		if raw, has := fields[name]; has {
			if wrong := fill(to.Field(i), raw); wrong != nil {
				return wrong.at(name)
			}
		}
	}
	return nil
}

func fillMap(to reflect.Value, entries map[string]any) *unfit {
	to.Set(reflect.MakeMapWithSize(to.Type(), len(entries)))
	for key, raw := range entries {
		value := reflect.New(to.Type().Elem()).Elem()
		if wrong := fill(value, raw); wrong != nil {
			return wrong.at(key)
		}
		to.SetMapIndex(reflect.ValueOf(key).Convert(to.Type().Key()), value)
	}
	return nil
}

// fillText sets to to a number, or to what a text says. A text for a list is its only element.
func fillText(to reflect.Value, text string) *unfit {
	var err error
	if u, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok {
		err = u.UnmarshalText([]byte(text))
	} else {
		switch kind := to.Kind(); {
		case to.Type() == reflect.TypeFor[time.Duration]():
			var d time.Duration
			d, err = duration.Parse(text)
			to.SetInt(int64(d))
		case kind == reflect.String:
			to.SetString(text)
		case kind == reflect.Slice:
			one := reflect.New(to.Type().Elem()).Elem()
			to.Set(reflect.Append(reflect.Zero(to.Type()), one))
			return fillText(to.Index(0), text)
		case kind == reflect.Float64:
			var f float64
			f, err = strconv.ParseFloat(text, 64)
			to.SetFloat(f)
		case to.CanInt():
			var n int64
			n, err = strconv.ParseInt(text, 10, to.Type().Bits())
			to.SetInt(n)
		default:
			err = fmt.Errorf("%q is no %s", text, kind)
		}
	}
	if err != nil {
		return &unfit{reason: strings.TrimPrefix(strings.TrimPrefix(err.Error(), "time: "), "strconv.")}
	}
	return nil
}
