package config

import (
	"reflect"
	"strings"
)

// MaxTokenFile bounds the file of a token, in bytes.
const MaxTokenFile = 64 << 10

// TokenFiles returns the files that the fields token_file name, in all sections.
func (c *Config) TokenFiles() []string {
	var all []string
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i))
			}
		case reflect.Struct:
			for i := range v.NumField() {
				f := v.Type().Field(i)
				name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
				switch {
				case !f.IsExported() || name == "-":
				case name == "token_file" && v.Field(i).String() != "":
					all = append(all, v.Field(i).String())
				default:
					walk(v.Field(i))
				}
			}
		}
	}
	walk(reflect.ValueOf(c))
	return all
}
