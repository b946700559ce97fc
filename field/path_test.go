package field

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []Step
	}{
		{"the whole message", "", nil},
		{"a name", "deviceName", []Step{{"deviceName", -1, -1}}},
		{"an index", "readings.0.value", []Step{{"readings", -1, -1}, {"0", 0, -1}, {"value", -1, -1}}},
		{"no index: leading zero", "007", []Step{{"007", -1, -1}}},
		{"no index: sign", "-7", []Step{{"-7", -1, -1}}},
		{"the largest index", "2147483647.2147483648", []Step{{"2147483647", 2147483647, -1}, {"2147483648", -1, -1}}},
		{"Y3 keys", "0x01.0X3F.0x40", []Step{{"0x01", -1, 1}, {"0X3F", -1, 0x3f}, {"0x40", -1, -1}}},
		{"no key", "0x.x10", []Step{{"0x", -1, -1}, {"x10", -1, -1}}},
		{"escapes", `a\.b.c\\d`, []Step{{"a.b", -1, -1}, {`c\d`, -1, -1}}},
		{"any other byte", "a b.é/:", []Step{{"a b", -1, -1}, {"é/:", -1, -1}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := Parse(test.text)
			if err != nil || !slices.Equal(p.Steps(), test.want) {
				t.Fatalf("got %+v, %v, want %+v", p.Steps(), err, test.want)
			}
			if p.String() != test.text || p.Len() != len(test.want) {
				t.Errorf("got %q of %d steps, want %q of %d", p, p.Len(), test.text, len(test.want))
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"empty first step", ".a", "empty step at offset 0"},
		{"empty step", "a..b", "empty step at offset 2"},
		{"empty last step", "a.", "empty step at offset 2"},
		{"backslash at the end", `a\`, "lone backslash at offset 1"},
		{"unknown escape", `ab\n`, "lone backslash at offset 2"},
		{"too deep", strings.Repeat("a.", MaxSteps) + "a", "more than 32 steps"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if p, err := Parse(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %+v, %v, want an error with %q", p, err, test.want)
			}
		})
	}
}

func TestParent(t *testing.T) {
	t.Parallel()
	parent, last, ok := MustParse("readings.0.value").Parent()
	if parent.String() != "readings.0" || last.Name != "value" || !ok {
		t.Errorf("got %q, %+v, %v, want readings.0 and value", parent, last, ok)
	}
	parent, last, ok = MustParse("0").Parent()
	if parent.Len() != 0 || last.Index != 0 || !ok {
		t.Errorf("got %q, %+v, %v, want the whole message and index 0", parent, last, ok)
	}
	if parent, last, ok = (Path{}).Parent(); parent.Len() != 0 || last.String() != "" || ok {
		t.Errorf("of the whole message: got %q, %+v, %v, want nothing", parent, last, ok)
	}
}

func TestStepString(t *testing.T) {
	t.Parallel()
	tests := []struct {
		step Step
		want string
	}{
		{Step{`a.b\c`, -1, -1}, `a\.b\\c`},
		{Step{"", 7, -1}, "7"},
		{Step{"", -1, 7}, "0x07"},
		{Step{"", -1, -1}, ""},
	}
	for _, test := range tests {
		if got := test.step.String(); got != test.want {
			t.Errorf("%+v: got %q, want %q", test.step, got, test.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "a.b", `a\.b`, "0x10.0", "..", `\`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		var steps []string
		for _, s := range p.Steps() {
			steps = append(steps, s.String())
		}
		if got := strings.Join(steps, "."); got != text {
			t.Errorf("steps of %q: got %q", text, got)
		}
	})
}
