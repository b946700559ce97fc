package config

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"example.com/ferry/format"
	"example.com/ferry/transport"
)

// MaxFile bounds a configuration file, in bytes.
const MaxFile = 16 << 20

// Program is the set of names that a configuration of this program may use.
type Program struct {
	Functions  []string               // names for functions[].run
	Formats    []format.Format        // formats that routes may read payloads as
	Transports []transport.Descriptor // for listeners; nil means all of package transport
	Engines    []EngineDescriptor     // for engine.address; nil means all of this module
}

func (p Program) transports() []transport.Descriptor {
	if p.Transports == nil {
		return transport.Descriptors()
	}
	return p.Transports
}

func (p Program) engines() []EngineDescriptor {
	if p.Engines == nil {
		return EngineDescriptors()
	}
	return p.Engines
}

// Load reads the file at path on top of the defaults. A file that cannot be used gives Errors, or the error of reading it.
func Load(path string, with Program) (*Config, error) {
	data, err := Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data, with)
}

// Read returns the content of the file at path, for Parse.
func Read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	if info.IsDir() {
		return nil, fmt.Errorf("config: %s is a directory: name a YAML file", path)
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("config: %s has %d bytes: at most %d", path, info.Size(), MaxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return data, nil
}

// Parse is Load for bytes; file is the name errors use.
func Parse(file string, data []byte, with Program) (*Config, error) {
	doc := newDocument(file, data)
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, doc.yamlError(err)
	}
	if len(tree.Docs) > 1 && tree.Docs[1].Body != nil {
		return nil, Errors{doc.errorAt(tree.Docs[1].Body.GetToken(), "", "a second document: one file holds one node")}
	}
	cfg := defaults()
	if body := body(tree); body != nil {
		doc.root = body
		var raw any
		if err := yaml.NodeToValue(doc.root, &raw); err != nil {
			return nil, doc.yamlError(err)
		}
		if errs := doc.checkSchema(raw); errs != nil {
			return nil, sorted(errs)
		}
		for _, section := range []string{"listeners", "proxy"} {
			if _, ok := lookup(doc.root, []string{section}); ok {
				cfg.Listeners = nil
			}
		}
		if err := yaml.NodeToValue(doc.root, cfg, yaml.Strict()); err != nil {
			return nil, doc.yamlError(err)
		}
	}
	cfg.complete()
	if found := cfg.check(with); found != nil {
		var errs Errors
		for _, e := range found {
			errs = append(errs, doc.errorAtValue(steps(e.Field), e.Reason))
		}
		return nil, sorted(errs)
	}
	return cfg, nil
}

// body returns the root node of the file; nil if the file is empty.
func body(tree *ast.File) ast.Node {
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return nil
	}
	switch b := tree.Docs[0].Body; b.Type() {
	case ast.NullType, ast.CommentType:
		return nil
	default:
		return b
	}
}

// Check reports what is wrong with c, for configurations that did not come from Load. The errors name fields only.
func (c *Config) Check(with Program) error {
	c.complete()
	return c.check(with).Err()
}

func sorted(errs Errors) Errors {
	slices.SortStableFunc(errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return errs
}
