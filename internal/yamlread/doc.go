// Package yamlread calls the YAML library, which panics on some malformed files, and returns a panic as an error.
//
//	err := yamlread.Do(func() error { return yaml.Unmarshal(data, &v) })
package yamlread
