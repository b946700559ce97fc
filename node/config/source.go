package config

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/internal/pace"
	"example.com/ferry/internal/regularfile"
	"example.com/ferry/internal/yamlread"
)

// Source is the text of a configuration as it was read: the file, those that it includes, and the values of its ${...}. Its text does not
// change. Errors in the text are those of Config: a Source with errors still says which files it depends on. One goroutine uses it at a time, with
// those that ReadAfter makes of it.
type Source struct {
	docs     []*document
	root     ast.Node // of all files together; nil if they are empty
	origins  map[ast.Node]*document
	patterns []string          // of include, with the folder of the file
	read     []string          // the files that were read, or are missing
	content  map[string]uint64 // of read
	errs     Errors

	routes []*routesFile
	memory routesMemory // what the next reading shares with this one

	env         func(name string) (string, bool)
	files       func(path string) ([]byte, error)      // nil: those of the disk
	match       func(pattern string) ([]string, error) // nil: those of the disk
	bundled     []File                                 // what is included instead of what the file names; nil: files of the disk
	private     bool                                   // every value is a secret
	expanded    int                                    // bytes of values
	secretNodes map[ast.Node]bool                      // nodes whose value is a secret
	secrets     []string                               // values that errors do not show
}

// Read reads the file at path and the files that it includes. The error is that of reading the file at path.
func Read(path string) (*Source, error) { return ReadAfter(path, nil) }

// ReadAfter is Read for a file that was read before, or nil. Lines of files of routes that have not changed are not decoded again: the configuration
// shares memory with that of before, and neither may be changed. Before is used for this once.
func ReadAfter(path string, before *Source) (*Source, error) {
	data, err := regularfile.Read(path, MaxFile)
	if errors.Is(err, regularfile.ErrSpecial) { // such as /dev/stdin
		data, err = readPipe(path)
	}
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if before == nil {
		before = &Source{}
	}
	return newSource(path, data, before.memory), nil
}

// readPipe is readFile for what can be read once.
func readPipe(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return regularfile.All(f, path, MaxFile)
}

// newSource reads what the text of a file needs.
func newSource(path string, data []byte, memory routesMemory) *Source {
	s := &Source{env: os.LookupEnv, memory: memory}
	s.load(path, data)
	return s
}

// readFile returns the content of a regular file of at most MaxFile bytes.
func readFile(path string) ([]byte, error) {
	data, err := regularfile.Read(path, MaxFile)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return data, nil
}

// readText is readFile for a file of routes, which is read while event loops share the processor.
func readText(path string) (string, error) {
	text, err := regularfile.Text(path, MaxRoutesFile)
	if err != nil {
		return "", fmt.Errorf("config: %w", err)
	}
	return text, nil
}

// load parses the file, and then those that it includes.
func (s *Source) load(path string, data []byte) {
	s.origins, s.secretNodes, s.content = map[ast.Node]*document{}, map[ast.Node]bool{}, map[string]uint64{}
	if s.files == nil {
		s.files, s.match = readFile, filepath.Glob
	}
	s.root = s.parse(path, data)
	s.include()
	if s.root != nil {
		s.readRoutes()
	}
}

// parse adds a file and returns its root; nil if it is empty or has an error.
func (s *Source) parse(path string, data []byte) ast.Node {
	s.note(path, string(data))
	doc := newDocument(path, data)
	doc.order = len(s.docs)
	s.docs = append(s.docs, doc)
	root, err := doc.parse(data)
	if err != nil {
		s.errs = append(s.errs, err...)
		return nil
	}
	if root == nil {
		return nil
	}
	known := aliases{doc, map[string]anchored{}}
	root, _, wrong := known.expand(root)
	if wrong != nil {
		s.errs = append(s.errs, wrong)
		return nil
	}
	within := substitution{s, doc, map[ast.Node]bool{}}
	return within.walk(root, compiled())
}

// parse returns the root of the file; nil if it is empty.
func (d *document) parse(data []byte) (root ast.Node, errs Errors) {
	var tree *ast.File
	err := yamlread.Do(func() (err error) {
		tree, err = parser.ParseBytes(data, 0)
		return err
	})
	if err != nil {
		return nil, d.yamlError(err)
	}
	if len(tree.Docs) > 1 && tree.Docs[1].Body != nil {
		return nil, Errors{d.errorAt(tree.Docs[1].Body.GetToken(), "", "a second document: one file holds one node")}
	}
	root = body(tree)
	if root != nil {
		for d.first = root.GetToken(); d.first.Prev != nil; {
			d.first = d.first.Prev
		}
	}
	return root, nil
}

// note adds a file to what Watched returns. text is empty for a missing file.
func (s *Source) note(path, text string) {
	if _, known := s.content[path]; !known {
		s.read = append(s.read, path)
	}
	s.content[path] = digest(text)
}

// seed is that of all digests in this process.
var seed = maphash.MakeSeed()

// digest changes when a file does.
func digest(text string) uint64 {
	const piece = 64 << 10
	var h maphash.Hash
	h.SetSeed(seed)
	for len(text) > piece {
		_, _ = h.WriteString(text[:piece]) // it never fails
		text = text[piece:]
		pace.Step()
	}
	_, _ = h.WriteString(text)
	return h.Sum64()
}

// readSecret returns the content of the file of ${file:PATH}, whose PATH is relative to the folder of the file that has it.
func (s *Source) readSecret(in *document, path string) ([]byte, error) {
	path = in.resolve(path)
	data, err := s.files(path)
	s.note(path, string(data))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSecretFile {
		return nil, fmt.Errorf("%s has %d bytes: at most %d", path, len(data), maxSecretFile)
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, fmt.Errorf("%s is not a text file", path)
	}
	return data, nil
}

// resolve returns a path that is relative to the folder of the file.
func (d *document) resolve(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(d.file), path)
}

// Stale reports whether reading the files again would give another text: a file has another content, is missing or new. What can be read
// once, such as a pipe, does not change.
func (s *Source) Stale() bool {
	return slices.ContainsFunc(s.Watched(), func(path string) bool {
		text, err := readText(path) // a file that cannot be read counts as a missing one
		if errors.Is(err, regularfile.ErrSpecial) {
			return false
		}
		was, known := s.content[path]
		return !known || was != digest(text)
	})
}

// Watched returns the files that the configuration depends on, with those that its patterns match now.
func (s *Source) Watched() []string {
	all := slices.Clone(s.read)
	for _, pattern := range s.patterns {
		matches, _ := filepath.Glob(pattern) // a wrong pattern is an error of Config
		for _, m := range matches {
			if !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	return all
}

// Name returns the path of the file.
func (s *Source) Name() string { return s.docs[0].file }

// At returns an error of a field, such as listeners[0].address, with the place of its value or of the closest one around it.
func (s *Source) At(field, reason string) *Error {
	return s.errorAtValue(steps(field), reason)
}

// errorsOf returns the errors of fields with their places.
func (s *Source) errorsOf(found invalid.Errors) Errors {
	errs := make(Errors, len(found))
	for i, e := range found {
		errs[i] = s.errorAtValue(steps(e.Field), e.Reason)
	}
	return errs
}
