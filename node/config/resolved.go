package config

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
)

// Resolved returns the configuration that counts as YAML: with the files that are included, the values of ${...} and the defaults, and
// without secrets. These are tokens, values of ${file:PATH} and of variables with such names as DB_PASSWORD, environments of guests, passwords
// in addresses, and header fields such as Authorization. Zero values are left out.
func (c *Config) Resolved() ([]byte, error) {
	shown := c.Redacted()
	shown.Include = nil // they are in it, as the routes of files are
	shown.withoutRoutesFiles()
	text, err := yaml.Marshal(shown)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return text, nil
}

// ResolvedJSON is Resolved as JSON.
func (c *Config) ResolvedJSON() ([]byte, error) {
	text, err := c.Resolved()
	if err != nil {
		return nil, err
	}
	text, err = yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return text, nil
}

// Redacted returns a copy of c without secrets, which shares nothing with c.
func (c *Config) Redacted() *Config {
	r := redaction{c.secrets}
	shown := new(Config)
	r.copyTo(reflect.ValueOf(shown).Elem(), reflect.ValueOf(c).Elem(), "")
	return shown
}

// redaction copies a configuration and leaves secrets out.
type redaction struct{ fields map[string]bool }

// secretHeader matches the names of header fields whose values identify a client.
var secretHeader = regexp.MustCompile(`(?i)authorization|cookie|token|secret|password|api-?key|credential`)

// userinfo matches user and password in an address. They end at the last @ before the path, as net/url reads them.
var userinfo = regexp.MustCompile(`://[^/\s]*@`)

// copyTo sets to, a zero value, to a copy of from, which is the value of a field.
func (r redaction) copyTo(to, from reflect.Value, field string) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(from.Type().Elem()))
			r.copyTo(to.Elem(), from.Elem(), field)
		}
	case reflect.Struct:
		r.copyStruct(to, from, field)
	case reflect.Slice:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			r.copyTo(to.Index(i), from.Index(i), fmt.Sprintf("%s[%d]", field, i))
		}
	case reflect.Map:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeMap(from.Type()))
		for key, value := range from.Seq2() {
			shown := reflect.New(value.Type()).Elem()
			r.copyTo(shown, value, join(field, key.String()))
			to.SetMapIndex(key, shown)
		}
	case reflect.String:
		text := from.String()
		if text != "" && isSecret(r.fields, field) {
			text = redacted
		}
		if strings.Contains(text, "://") {
			text = userinfo.ReplaceAllString(text, "://"+redacted+"@")
		}
		to.SetString(text)
	default:
		to.Set(from)
	}
}

// copyStruct is copyTo for a struct. Fields that are not in the file stay zero.
func (r redaction) copyStruct(to, from reflect.Value, field string) {
	for i := range from.NumField() {
		f := from.Type().Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case options == "inline":
			r.copyTo(to.Field(i), from.Field(i), field)
		case name == "token" || f.Tag.Get("secret") == "true" || secretPair(from, name):
			all := redaction{map[string]bool{join(field, name): true}}
			all.copyTo(to.Field(i), from.Field(i), join(field, name))
		default:
			r.copyTo(to.Field(i), from.Field(i), join(field, name))
		}
	}
}

// secretPair reports whether a field of a struct is the value of a header field that identifies a client: it stands beside its name.
func secretPair(of reflect.Value, field string) bool {
	name := of.FieldByName("Name")
	return (field == "value" || field == "prefix" || field == "regex") && name.IsValid() && name.Kind() == reflect.String && secretHeader.MatchString(name.String())
}
