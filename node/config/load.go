package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// MaxFile bounds a configuration file, in bytes.
const MaxFile = 1 << 20

// Load reads the file at path on top of the defaults. functions are the names that the program has a function for. A file
// that cannot be used gives Errors, or the error of reading it.
func Load(path string, functions ...string) (*Config, error) {
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
	return Parse(path, data, functions...)
}

// Parse is Load for bytes; file is the name errors use.
func Parse(file string, data []byte, functions ...string) (*Config, error) {
	doc := newDocument(file, data)
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, doc.yamlError(err)
	}
	if len(tree.Docs) > 1 && tree.Docs[1].Body != nil {
		return nil, Errors{doc.at(tree.Docs[1].Body.GetToken(), "", "a second document: one file holds one node")}
	}
	cfg := base()
	if body := body(tree); body != nil {
		doc.root = body
		var raw any
		if err := yaml.NodeToValue(doc.root, &raw); err != nil {
			return nil, doc.yamlError(err)
		}
		if errs := doc.checkSchema(raw); errs != nil {
			return nil, sorted(errs)
		}
		if _, ok := lookup(doc.root, []string{"listeners"}); ok {
			cfg.Listeners = nil
		}
		if err := yaml.NodeToValue(doc.root, cfg, yaml.Strict()); err != nil {
			return nil, doc.yamlError(err)
		}
	}
	cfg.complete()
	if found := cfg.problems(functions); found != nil {
		var errs Errors
		for _, p := range found {
			errs = append(errs, doc.value(p.path, p.reason))
		}
		return nil, sorted(errs)
	}
	return cfg, nil
}

// body returns what the file says, nil if that is nothing.
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
func (c *Config) Check(functions ...string) error {
	c.complete()
	var errs []error
	for _, p := range c.problems(functions) {
		errs = append(errs, fmt.Errorf("config: %s: %s", dotted(p.path), p.reason))
	}
	return errors.Join(errs...)
}

func sorted(errs Errors) Errors {
	slices.SortStableFunc(errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return errs
}
