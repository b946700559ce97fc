package carries_test

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"example.com/ferry/codec/internal/carries"
)

type (
	ring struct {
		Next  *ring
		Items []ring
	}
	shape interface{ Area() float64 }
	oneOf struct {
		Name  string
		Shape shape
	}
	base struct{ C chan int }
	// itself has a field that cannot be carried, and a method that encodes it.
	itself struct{ C chan int }
)

func (*itself) MarshalText() ([]byte, error) { return nil, nil }

func TestCheck(t *testing.T) {
	t.Parallel()
	rules := carries.Rules{Name: "x", Tags: []string{"x", "json"}, Self: []reflect.Type{reflect.TypeFor[encoding.TextMarshaler]()}, Key: carries.TextOrInteger}
	for _, row := range []struct {
		t    reflect.Type
		want string // in the error; empty if there is none
	}{
		{reflect.TypeFor[int](), ""},
		{reflect.TypeFor[*ring](), ""},
		{reflect.TypeFor[any](), ""},
		{reflect.TypeFor[map[string][]any](), ""},
		{reflect.TypeFor[map[uint8]bool](), ""},
		{reflect.TypeFor[itself](), ""},
		{reflect.TypeFor[struct{ I *itself }](), ""},
		{reflect.TypeFor[struct{ c chan int }](), ""},
		{reflect.TypeFor[struct {
			C chan int `json:"-"`
		}](), ""},
		{reflect.TypeFor[struct {
			C chan int `x:"c" json:"-"`
		}](), "C: x has nothing for chan int"},
		{reflect.TypeFor[*oneOf](), "field carries_test.oneOf.Shape: carries_test.shape is an interface with methods"},
		{reflect.TypeFor[struct{ base }](), "chan int"},
		{reflect.TypeFor[struct{ *base }](), "chan int"},
		{reflect.TypeFor[map[float64]int](), "float64 cannot be the key"},
		{reflect.TypeFor[map[string]func()](), "func()"},
		{reflect.TypeFor[[2]complex64](), "complex64"},
		{nil, "no type"},
	} {
		t.Run(fmt.Sprint(row.t), func(t *testing.T) {
			t.Parallel()
			err := rules.Check(row.t)
			if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("got %v, want an error with %q", err, row.want)
			}
		})
	}
}
