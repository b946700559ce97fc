package json

import (
	"errors"
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/formattest"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, data, path string
		answer           format.SearchResult
		fed              int    // number of bytes until Feed returns a result or an error
		err              string // suffix of the error text
	}{
		{"text", ` {"a": "x", "b" : "yz" }`, "b", format.Found, 22, ""},
		{"text with escapes", `["\\\"", "\"\\"]`, "1", format.Found, 15, ""},
		{"number, which the next byte ends", `{"a":-1.5e3,"b":2}`, "a", format.Found, 12, ""},
		{"number, which the message ends", `42`, "", format.Found, 2, ""},
		{"literal", `[true,null]`, "0", format.Found, 5, ""},
		{"container at its head", `{"a":[ `, "a", format.Found, 6, ""},
		{"name with escapes", `{"\u0061\"":1,"b":2}`, `a"`, format.Found, 14, ""},
		{"longer name first", `{"abcdefghijklmnop":1,"a":2}`, "a", format.Found, 28, ""},
		{"behind containers", `[[{"]":"\"]"},[]],{},7]`, "2", format.Found, 23, ""},
		{"absent before the end", `[{"a":1},2]`, "0.b", format.Absent, 8, ""},
		{"absent in a list", `[1,2],`, "2", format.Absent, 5, ""},
		{"absent in an empty list", `[ ]`, "0", format.Absent, 3, ""},
		{"absent below a scalar", `{"a":"x"}`, "a.b", format.Absent, 6, ""},
		{"no index", `[1,2]`, "x", format.Absent, 1, ""},
		{"cut in a name", `{"a`, "a", format.More, 3, "unexpected EOF"},
		{"cut in a literal", `tru`, "", format.More, 3, "unexpected EOF"},
		{"cut in a number", `[42`, "0", format.More, 3, "unexpected EOF"},
		{"cut behind a backslash", `["a\`, "0", format.More, 4, "unexpected EOF"},
		{"no colon", `{"a" 1}`, "b", format.More, 6, `'1' where a colon should stand at offset 5`},
		{"no comma", `[1 2]`, "1", format.More, 4, `'2' where a comma or ']' should stand at offset 3`},
		{"no name", `{"a":1,}`, "b", format.More, 8, `'}' where a name in quotes should stand at offset 7`},
		{"no value", `[1,]`, "1", format.More, 4, `']' where a value should stand at offset 3`},
		{"wrong literal", `[trux]`, "0", format.More, 5, `'t' where a value should stand at offset 1`},
		{"nested too deep", "[" + strings.Repeat("[", 40), "1", format.More, 33, "nested deeper than 32 levels at offset 32"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			formattest.SearchCase(t, Format{}, test.data, test.path, test.answer, test.fed, test.err)
		})
	}
}

// TestSearchTooLong searches for values longer than MaxValue.
func TestSearchTooLong(t *testing.T) {
	t.Parallel()
	for data, kind := range map[string]field.Kind{
		`"` + strings.Repeat("x", 32) + `"`: field.Text,
		strings.Repeat("1", 32) + ".5":      field.Int,
	} {
		s := Format{}.NewSearch(field.Path{}, format.SearchOptions{MaxValue: 16})
		answer, fed, err := formattest.FeedSingly(s, []byte(data))
		if answer != format.Found || err != nil || fed > 18 || s.Span().End != -1 || s.Span().Kind != kind {
			t.Errorf("%s: got %v after %d bytes, %v, at %+v, want a %v", data, answer, fed, err, s.Span(), kind)
		}
		if v, err := s.Value(field.AnyType); !errors.Is(err, format.ErrTooLong) {
			t.Errorf("%s: got %+v, %v, want format.ErrTooLong", data, v, err)
		}
	}
}

// TestSearchKeepsNoSkippedBytes skips long names and gaps. The search must not store them.
func TestSearchKeepsNoSkippedBytes(t *testing.T) {
	for name, part := range map[string]string{
		"name":            `"` + strings.Repeat("a", 1<<20) + `":1`,
		"name of escapes": `"` + strings.Repeat(`\u0061`, 1<<18) + `":1`,
		"white space":     strings.Repeat(" ", 1<<20) + `"b":1`,
		"number":          `"b":` + strings.Repeat("1", 1<<20),
		"list":            `"b":[` + strings.Repeat("1,", 1<<19) + "1]",
	} {
		t.Run(name, func(t *testing.T) {
			formattest.SearchLarge(t, Format{}, []byte(`{"first":1,`+part+`,"aaaaaaaa":2}`), "first", "aaaaaaaa")
		})
	}
}

func TestSearchLarge(t *testing.T) {
	data := `{"id":"e-42","blob":"` + strings.Repeat(`\"binary `, 12<<17) + `","last":42}`
	formattest.SearchLarge(t, Format{}, []byte(data), "id", "last")
}

func FuzzSearch(f *testing.F) {
	for _, s := range fuzzSeeds(f) {
		f.Add(s, "readings.0.value", uint64(len(s)))
	}
	f.Fuzz(func(t *testing.T, data []byte, path string, seed uint64) {
		if p, err := field.Parse(path); err == nil {
			formattest.CheckSearch(t, Format{}, data, p, seed)
		}
	})
}
