package config

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"example.com/ferry/internal/duration"
)

// TestFields compares docs/fields.md with the schema: a table of fields for each section of a configuration.
func TestFields(t *testing.T) {
	const path = "../../docs/fields.md"
	var b strings.Builder
	b.WriteString("# All fields of a configuration\n\nMade from the schema by `make gen`. [configuration.md](configuration.md) says how a configuration is read and reloaded.\n")
	overview, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for section := generate(t).Properties.Oldest(); section != nil; section = section.Next() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", section.Key, cell(section.Value.Description))
		if link := fmt.Sprintf("| [`%s`](fields.md#%s) |", section.Key, section.Key); !strings.Contains(string(overview), link) {
			t.Errorf("docs/configuration.md has no row %s", link)
		}
		name := ""
		if section.Value.Items != nil {
			name = "[]"
		}
		var rows strings.Builder
		if err := fieldRows(&rows, name, section.Value, map[string]string{}); err != nil {
			t.Fatal(err)
		}
		if rows.Len() > 0 {
			b.WriteString("\n| field | |\n|---|---|\n" + rows.String())
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != b.String() {
		t.Errorf("%s is not what the schema says (%v): run make gen", path, err)
	}
}

// fieldRows writes a row for each field below s, which has the name. A field with many fields that an earlier one has too refers to
// that one: seen has their names by their schemas.
func fieldRows(b *strings.Builder, name string, s *jsonschema.Schema, seen map[string]string) error {
	const many = 2000 // bytes of a schema
	if s.Items != nil {
		s = s.Items
	}
	for p := s.Properties.Oldest(); p != nil; p = p.Next() {
		field := strings.TrimPrefix(name+"."+p.Key, ".")
		if p.Value.Items != nil && p.Value.Items.Properties.Len() > 0 {
			field += "[]"
		}
		initial := ""
		if p.Value.Default != nil {
			initial = fmt.Sprintf(", `%v` by default", p.Value.Default)
		}
		text := cell(p.Value.Description)
		below := p.Value.Properties
		if p.Value.Items != nil {
			below = p.Value.Items.Properties
		}
		schema, err := json.Marshal(below)
		if err != nil {
			return err
		}
		first := seen[string(schema)]
		if first != "" && len(schema) > many {
			text += fmt.Sprintf(" It has the fields of `%s`.", first)
		}
		fmt.Fprintf(b, "| `%s` | %s%s. %s |\n", field, fieldValue(p.Value), initial, text)
		if first != "" && len(schema) > many {
			continue
		}
		seen[string(schema)] = field
		if err := fieldRows(b, field, p.Value, seen); err != nil {
			return err
		}
	}
	return nil
}

// fieldValue says what a field takes.
func fieldValue(s *jsonschema.Schema) string {
	switch {
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprintf("`%v`", v)
		}
		return strings.Join(values, ", ")
	case s.Pattern == duration.Pattern:
		return "duration"
	case s.Pattern == sizePattern:
		return "size"
	case s.Properties.Len() > 0 || s.AdditionalProperties != nil:
		return "mapping"
	case s.Items != nil:
		return "list"
	}
	return s.Type
}

// cell keeps text from ending a cell of a table, and from being taken for HTML.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(text)
}
