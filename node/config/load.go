package config

import (
	"cmp"
	"errors"
	"reflect"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"example.com/ferry/format"
	"example.com/ferry/proxy"
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
	s, err := Read(path)
	if err != nil {
		return nil, err
	}
	return s.Config(with)
}

// Parse is Load for bytes; file is the name that errors use, and the files that it includes are next to it.
func Parse(file string, data []byte, with Program) (*Config, error) {
	return newSource(file, data, nil).Config(with)
}

// Config returns the configuration that the text describes, on top of the defaults. Text that cannot be used gives Errors.
func (s *Source) Config(with Program) (*Config, error) { return s.ConfigAfter(with, nil) }

// ConfigAfter is Config for the next configuration of a proxy that runs with before, or nil: see proxy.Config.CompileAfter.
func (s *Source) ConfigAfter(with Program, before *proxy.Compiled) (*Config, error) {
	cfg, errs := s.config(with, before)
	if len(errs) == 0 {
		return cfg, nil
	}
	if cfg != nil {
		for _, file := range cfg.ContentFiles() { // the fault may be theirs, so the configuration is read again when they change
			text, _ := readText(file)
			s.note(file, text)
		}
	}
	return nil, s.masked(sorted(errs))
}

func (s *Source) config(with Program, before *proxy.Compiled) (cfg *Config, errs Errors) {
	if cfg, errs = s.decoded(); len(errs) > 0 {
		return nil, errs
	}
	cfg.complete()
	cfg.secrets = s.secretFields()
	return cfg, s.errorsOf(cfg.check(with, before))
}

// decoded returns what the YAML library reads, on top of the defaults.
func (s *Source) decoded() (cfg *Config, errs Errors) {
	if len(s.errs) > 0 {
		return nil, s.errs
	}
	cfg = defaults()
	if s.root != nil {
		raw, err := decode(s.root)
		if err != nil {
			return nil, s.yamlError(err)
		}
		if errs := s.checkSchema(compiled(), raw, nil); errs != nil {
			return nil, errs
		}
		for _, section := range []string{"listeners", "proxy"} {
			if _, _, ok := s.lookup([]string{section}); ok {
				cfg.Listeners = nil
			}
		}
		if wrong := fill(reflect.ValueOf(cfg).Elem(), raw); wrong != nil {
			return nil, Errors{s.errorAtValue(wrong.path, wrong.reason)}
		}
		if errs := s.decodeRoutes(cfg); errs != nil {
			return nil, errs
		}
	}
	return cfg, nil
}

// yamlError converts an error of the YAML library, which names a token of one of the files.
func (s *Source) yamlError(err error) Errors {
	doc := s.docs[0]
	var e yaml.Error
	if errors.As(err, &e) && e.GetToken() != nil {
		first := e.GetToken()
		for first.Prev != nil {
			first = first.Prev
		}
		for _, d := range s.docs {
			if d.first == first {
				doc = d
			}
		}
	}
	return doc.yamlError(err)
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
	return c.check(with, nil).Err()
}

func sorted(errs Errors) Errors {
	slices.SortStableFunc(errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return errs
}
