// Package scaffold makes the folders of new functions: what `ferry new function` writes, and `ferry dev` runs.
//
//	err := scaffold.Write("alerts", "alerts", "go")
//	project, err := scaffold.Load("alerts") // function.yaml
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"example.com/ferry/clients/python"
	"example.com/ferry/internal/naming"
	"example.com/ferry/internal/yamlread"
)

//go:embed templates
var templates embed.FS

// Languages are those that there is a template for.
var Languages = []string{"go", "javascript", "python", "rust"}

// File is the file of a project that says how it is built and run.
const File = "function.yaml"

// validName reports whether a name is one of a Go module, of a Rust crate and of a function.
func validName(s string) bool {
	return naming.Valid(s) && s == strings.ToLower(s) && 'a' <= s[0] && s[0] <= 'z'
}

// Write makes the folder dir, which must not exist, with a function in a language.
func Write(dir, name, language string) error {
	if !validName(name) {
		return fmt.Errorf("%q is no name for a function: want lower-case letters, digits, hyphens and underscores, and a letter first", name)
	}
	if !slices.Contains(Languages, language) {
		return fmt.Errorf("no template for %q: want one of %s", language, strings.Join(Languages, ", "))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if language == "python" {
		if err := os.WriteFile(filepath.Join(dir, "ferry_worker.py"), python.Worker, 0o644); err != nil {
			return err
		}
	}
	root := "templates/" + language
	return fs.WalkDir(templates, root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(strings.TrimPrefix(path, root+"/"), ".tmpl")))
		if d.IsDir() {
			return os.Mkdir(to, 0o755)
		}
		if filepath.Base(to) == "gitignore" {
			to = filepath.Join(dir, ".gitignore")
		}
		text, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, []byte(strings.ReplaceAll(string(text), "{{name}}", name)), 0o644)
	})
}

// Project is function.yaml.
type Project struct {
	Name    string            `yaml:"name"`
	Observe []string          `yaml:"observe"`
	Where   string            `yaml:"where"`
	Build   []string          `yaml:"build"`   // a command line, run in the folder; empty if there is nothing to build
	Env     map[string]string `yaml:"env"`     // of Build, beside the environment of this process
	Wasm    string            `yaml:"wasm"`    // what Build makes; or
	Command []string          `yaml:"command"` // a worker, run in the folder

	// Watch are patterns of the names of the files that the build reads. Empty means those of the language of Build or Command, and all files if that is unknown.
	Watch []string `yaml:"watch"`
}

// languageFiles are the names of the files that a program reads, by its name without a version.
var languageFiles = map[string][]string{
	"go":     {"*.go", "go.mod", "go.sum"},
	"cargo":  {"*.rs", "Cargo.toml", "Cargo.lock"},
	"node":   {"*.js", "*.mjs", "*.cjs"},
	"python": {"*.py"},
}

// Reads reports whether the build, or the worker, reads files of this name.
func (p Project) Reads(name string) bool {
	watch := p.Watch
	if len(watch) == 0 {
		program := append(slices.Concat(p.Build, p.Command), "")[0]
		watch = languageFiles[strings.TrimRight(filepath.Base(program), "0123456789.")]
	}
	if len(watch) == 0 {
		return filepath.Ext(name) != ".wasm"
	}
	return slices.ContainsFunc(watch, func(pattern string) bool {
		ok, _ := path.Match(pattern, name) // Load has checked it
		return ok
	})
}

// Load reads the project in a folder.
func Load(dir string) (Project, error) {
	var p Project
	text, err := os.ReadFile(filepath.Join(dir, File))
	if errors.Is(err, fs.ErrNotExist) {
		return p, fmt.Errorf("%s has no %s: it is not the folder of a function; make one with: ferry new function NAME --lang go", dir, File)
	}
	if err != nil {
		return p, err
	}
	if err := yamlread.Do(func() error { return yaml.UnmarshalWithOptions(text, &p, yaml.Strict()) }); err != nil {
		return p, fmt.Errorf("%s: %w", filepath.Join(dir, File), err)
	}
	switch {
	case (p.Wasm == "") == (len(p.Command) == 0):
		return p, fmt.Errorf("%s: give either wasm or command", filepath.Join(dir, File))
	case slices.ContainsFunc(p.Watch, func(pattern string) bool {
		_, err := path.Match(pattern, "")
		return err != nil || strings.Contains(pattern, "/")
	}):
		return p, fmt.Errorf("%s: watch: %q has a pattern that matches no name of a file: want names without folders, such as data.json and *.go", filepath.Join(dir, File), p.Watch)
	case p.Name == "" || len(p.Observe) == 0:
		return p, fmt.Errorf("%s: name or observe is missing", filepath.Join(dir, File))
	}
	return p, nil
}
