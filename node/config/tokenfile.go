package config

import (
	"reflect"
	"strings"
	"sync"
)

// MaxTokenFile bounds the file of a token, in bytes.
const MaxTokenFile = 64 << 10

// tokenFiles finds the fields token_file, in all sections.
var tokenFiles = sync.OnceValue(func() *search {
	return newSearch(func(f reflect.StructField) bool {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		return name == "token_file"
	})
})

// TokenFiles returns the files that the fields token_file name, in all sections.
func (c *Config) TokenFiles() []string {
	var all []string
	tokenFiles().each(c, func(_ searchPath, v reflect.Value) {
		if file := v.String(); file != "" {
			all = append(all, file)
		}
	})
	return all
}
