package config

import (
	"reflect"
	"strings"
)

// Changed returns the fields, such as admin.address, in which next differs from c, except for those of the proxy. A list counts as one field.
func (c *Config) Changed(next *Config) []string {
	a, b := *c, *next
	a.Proxy, b.Proxy = nil, nil
	return changed("", reflect.ValueOf(a), reflect.ValueOf(b))
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
		name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("yaml"), ",")
		if at != "" {
			name = at + "." + name
		}
		all = append(all, changed(name, a.Field(i), b.Field(i))...)
	}
	return all
}
