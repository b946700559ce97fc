package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bundle is the text of a configuration for another process, which puts its own values in: that of the node which would run it.
type Bundle struct {
	Files []File `json:"files"` // the file, then those that it includes
}

// File is one file of a Bundle.
type File struct {
	Name string `json:"name"` // absolute: files of ${file:PATH} are looked for next to it
	Text string `json:"text"`

	Routes bool `json:"routes,omitempty"` // it is one that routes_file names
}

// Bundle returns the text of the files. Errors in values do not matter here, as the other process has other ones.
func (s *Source) Bundle() Bundle {
	var b Bundle
	for _, d := range s.docs {
		b.Files = append(b.Files, File{Name: absolute(d.file), Text: strings.Join(d.lines, "\n")})
	}
	for i, f := range s.routes {
		if !slices.ContainsFunc(s.routes[:i], func(other *routesFile) bool { return other.name == f.name }) {
			b.Files = append(b.Files, File{Name: absolute(f.name), Text: f.text, Routes: true})
		}
	}
	return b
}

func absolute(name string) string {
	if abs, err := filepath.Abs(name); err == nil {
		return abs
	}
	return name
}

// Source reads the bundle as Read does the files. All values that this process puts in are secrets: no error and no difference
// shows them.
func (b Bundle) Source() *Source {
	if len(b.Files) == 0 {
		b.Files = []File{{Name: "node.yaml"}}
	}
	s := &Source{env: os.LookupEnv, private: true, bundled: b.Files[1:]}
	s.load(b.Files[0].Name, []byte(b.Files[0].Text))
	return s
}

// includeBundled merges the files of a bundle into the root.
func (s *Source) includeBundled() {
	for _, f := range s.bundled {
		if !f.Routes {
			s.includeText(f.Name, []byte(f.Text))
		}
	}
}
