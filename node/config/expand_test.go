package config

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestExpand has the form of expressions, and what is not one.
func TestExpand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want, wrong string }{
		{text: "", want: ""},
		{text: "plain $HOME $ $$ } {", want: "plain $HOME $ $$ } {"},
		{text: "${A}", want: "<A>"},
		{text: "a${A}b${_b9}c", want: "a<A>b<_b9>c"},
		{text: "${A:}", want: "<A|>"},
		{text: "${A:http://[::1]:80/?a=$b:c}", want: "<A|http://[::1]:80/?a=$b:c>"},
		{text: "${A: spaced }", want: "<A| spaced >"},
		{text: "${file:secrets/a:b}", want: "<@secrets/a:b>"},
		{text: "${file}", want: "<file>"},
		{text: "$${A}", want: "${A}"},
		{text: "$$${A}", want: "$${A}"},
		{text: "$$$${A}${B}", want: "$$${A}<B>"},
		{text: "a ${A b", wrong: "${A b: without a closing }: write $${"},
		{text: "${", wrong: "${: without a closing }"},
		{text: "${}", wrong: `${}: "" is no name`},
		{text: "${1a}", wrong: `${1a}: "1a" is no name`},
		{text: "${a-b}", wrong: `${a-b}: "a-b" is no name`},
		{text: "${A:${B}}", wrong: "${A:${B}: one ${ within another"},
		{text: "${file:}", wrong: "${file:}: names no file"},
	} {
		got, err := expand(c.text, func(e expression) (string, error) {
			switch {
			case e.file != "":
				return "<@" + e.file + ">", nil
			case e.havePreset:
				return "<" + e.variable + "|" + e.preset + ">", nil
			}
			return "<" + e.variable + ">", nil
		})
		if c.wrong != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.wrong) {
				t.Errorf("%q: got the error %v, want %s", c.text, err, c.wrong)
			}
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%q: got %q, %v, want %q", c.text, got, err, c.want)
		}
	}
}

// FuzzExpand: expressions never panic, what is escaped comes out as it is, and values are not expanded again.
func FuzzExpand(f *testing.F) {
	for _, text := range []string{"${A}", "$${A}", "${A:b}", "${file:x}", "a${", "${A:${B}}", "$$$", "${\xff}"} {
		f.Add(text, "${A}")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		values := 0
		got, err := expand(text, func(expression) (string, error) { values++; return value, nil })
		var wrong *expressionError
		switch {
		case err != nil && !errors.As(err, &wrong):
			t.Fatalf("%q: %v is not an *expressionError", text, err)
		case err == nil && values == 0 && got != strings.ReplaceAll(text, "$${", "${"):
			t.Fatalf("%q without an expression became %q", text, got)
		case err == nil && value != "" && strings.Count(got, value) < values:
			t.Fatalf("%q became %q, without %d times %q", text, got, values, value)
		}
		escaped, err := expand(strings.ReplaceAll(text, "${", "$${"), nil)
		if err != nil || escaped != text {
			t.Fatalf("%q came out as %q, %v", text, escaped, err)
		}
	})
}

// FuzzValues: no text of a file panics, and a value of the environment changes the value of its field only.
func FuzzValues(f *testing.F) {
	for _, value := range []string{"edge-1", "a: b", "[1, 2]", "- x\n- y", "\"", "'", "#", "x\nlog: {level: debug}", "${B}", "*a", "&a", "!!int 1", "{{", "%", "null", "true", "7"} {
		f.Add("names: ['${A}']\nadmin: {address: \"off\"}\n", value)
		f.Add("names:\n- ${A}\n- |\n  ${A}\nlimits: {max_tags: '${N:12}'}\n", value)
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		parse := func(value string) (*Config, error) {
			s := &Source{env: func(string) (string, bool) { return value, true }, match: none, files: missing}
			s.load("node.yaml", []byte(text))
			return s.Config(Program{})
		}
		const stands = "placeholder.example.com"
		want, err := parse(stands)
		got, err2 := parse(value)
		if err != nil || err2 != nil || len(value) < 3 || !utf8.ValidString(value) {
			return
		}
		a, err := want.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		b, err := got.Resolved()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Count(string(a), stands) == 0 && string(a) != string(b) && len(want.Names) > 0 {
			t.Errorf("%q with %q gives\n%s\nand with %q\n%s", text, stands, a, value, b)
		}
	})
}

func none(string) ([]string, error)  { return nil, nil }
func missing(string) ([]byte, error) { return nil, errors.New("no files here") }
