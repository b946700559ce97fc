package formattest

import (
	"strings"
	"testing"

	"example.com/ferry/field"
	"example.com/ferry/format"
)

// EditCase is one change of a message. The result is either the message Want, or an error whose text contains Err.
type EditCase struct {
	Name  string
	Data  string
	Op    string // insert, delete or replace
	Path  string
	Value field.Value
	Want  string
	Err   string
}

// EditCases applies each case with form, which must be a format.Editor. If the message is valid, the changed message
// must be valid, too.
func EditCases(t *testing.T, form format.Format, cases []EditCase) {
	t.Helper()
	f, ok := form.(format.Editor)
	if !ok {
		t.Fatalf("%s is no format.Editor", form.Name())
	}
	for _, test := range cases {
		t.Run(test.Name, func(t *testing.T) {
			p, data := field.MustParse(test.Path), []byte(test.Data)
			var e format.Edit
			var err error
			switch test.Op {
			case "insert":
				err = f.Insert(&e, data, p, test.Value)
			case "delete":
				err = f.Delete(&e, data, p)
			case "replace":
				err = f.Replace(&e, data, p, test.Value)
			default:
				t.Fatalf("op %q: want insert, delete or replace", test.Op)
			}
			if test.Err != "" {
				if err == nil || !strings.Contains(err.Error(), test.Err) {
					t.Errorf("got %v, want an error with %q", err, test.Err)
				}
				test.Want = test.Data
			} else if err != nil {
				t.Fatal(err)
			}
			got := e.AppendTo(nil)
			if string(got) != test.Want {
				t.Errorf("got  % x\nwant % x", got, test.Want)
			}
			if form.Validate(data, format.Options{}) == nil {
				if err := form.Validate(got, format.Options{}); err != nil {
					t.Errorf("% x is invalid: %v", got, err)
				}
			}
		})
	}
}

// Text returns a text value for an EditCase.
func Text(s string) field.Value { return field.Value{Kind: field.Text, Bytes: []byte(s)} }

// Int returns an integer value.
func Int(n int64) field.Value { return field.Value{Kind: field.Int, Int: n} }

// Encoded returns a List or Map value. encoding is the bytes of the value.
func Encoded(k field.Kind, encoding string) field.Value {
	return field.Value{Kind: k, Bytes: []byte(encoding)}
}
