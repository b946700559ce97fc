package pipeline

import (
	"strings"
	"testing"
)

func TestExpressions(t *testing.T) {
	t.Parallel()
	const message = `{"t":50,"text":"21.5","device-name":"pump","at":"2026-01-02T03:04:05.5Z","s":1767323045,"list":[1,2],"null":null}`
	for text, want := range map[string]string{
		"t":                                    `50`,
		"=t":                                   `50`,
		"= (t - 32) / 1.8":                     `10`,
		"= 1 + 2 * 3 - 4 / 8":                  `6.5`,
		"= -t + -(1 - 2)":                      `-49`,
		"=text*2":                              `43`,
		"= list.0 + list.1":                    `3`,
		"= float64(t) + 1":                     `51`,
		"= text(device-name, ' on ', @tag)":    `"pump on in/a"`,
		"= text('(', text(t, ','), text, ')')": `"(50,21.5)"`,
		"= time(at)":                           `1767323045500000000`,
		"= time(s, 's')":                       `1767323045000000000`,
		"= date(time(s, 's'))":                 `"2026-01-02T03:04:05Z"`,
		"= (time(at) - time(s, 's')) / 1e6":    `500`,
		"= date(@time)":                        `"1970-01-01T00:00:00.000000007Z"`,
		"= t\n\t+ 1":                           `51`,
		"= t / 0":                              ``, // skipped
		"= missing + 1":                        ``,
		"= device-name * 2":                    ``,
		"= null + 1":                           ``,
		"= text(missing)":                      ``,
		"= date(device-name)":                  ``,
	} {
		r := newRig(t, Config{Steps: steps(Step{Select: map[string]string{"x": text}}, Step{Publish: "out"})})
		r.putAt("a", message, 7)
		got := ""
		for _, m := range r.sent {
			got = strings.TrimSuffix(strings.TrimPrefix(string(m.Payload), `{"x":`), "}")
		}
		if skipped := r.Stats().Steps[0].Skipped; got != want || (skipped == 1) != (want == "") {
			t.Errorf("%s: got %s and %d skipped, want %s", text, got, skipped, want)
		}
	}
}

func TestExpressionErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"=":                           "ends where a field",
		"= 1 +":                       "ends where a field",
		"= (1":                        "ends where ) is expected",
		"= 1 2":                       "where an operator",
		"= 'a":                        "no second quote",
		"= float64(a":                 "no second parenthesis",
		"= hour(a)":                   "no function hour",
		"= time(a, 'h')":              `no unit "h"`,
		"= time(a, s)":                "no unit",
		"= date(a, a)":                "no function date of 2",
		"= 3-1":                       "blanks around -",
		"= 1e400":                     "exceeds the range",
		"= a..b":                      "empty step",
		"= 1 / * 2":                   "where a field",
		"=" + strings.Repeat("(", 40): "nests deeper",
	} {
		_, err := Check(steps(Step{Select: map[string]string{"x": text}}, Step{Publish: "out"}), []string{"in"})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "pipeline[0].select.x") {
			t.Errorf("%s: got %v, want %s of pipeline[0].select.x", text, err, want)
		}
	}
}

func FuzzExpression(f *testing.F) {
	f.Add("(a - 1) / text(b, 'x')")
	f.Fuzz(func(t *testing.T, text string) {
		steps := steps(Step{Select: map[string]string{"x": "=" + text}}, Step{Publish: "out"})
		if _, err := Check(steps, []string{"in/+"}); err != nil {
			return
		}
		newRig(t, Config{Steps: steps}).put("a", `{"a":1,"b":"c"}`)
	})
}
