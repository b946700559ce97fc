package config

import (
	"reflect"
	"strings"
)

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
