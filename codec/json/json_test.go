package json_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/ferry/codec/codectest"
	"example.com/ferry/codec/json"
)

type reading struct {
	Name   string         `json:"name"`
	Value  float64        `json:"value"`
	Raw    []byte         `json:"raw,omitempty"`
	Labels map[string]int `json:"labels,omitempty"`
}

func TestContract(t *testing.T) {
	codectest.Run(t, json.Codec{},
		reading{Name: "noise", Value: 31.5, Raw: []byte{0, 255}, Labels: map[string]int{"hall": 4}},
		[]int{1, -2, 3}, "ä < b", true, 1e300, map[string]string{"k": "v"})
}

func TestUnmarshalErrors(t *testing.T) {
	rows := map[string]string{
		"cut":            `{"name":"noi`,
		"trailing":       `{"name":"noise"} x`,
		"another type":   `{"value":"high"}`,
		"out of range":   `{"value":1e999}`,
		"no JSON at all": "\x00",
		"empty":          "",
	}
	for name, data := range rows {
		t.Run(name, func(t *testing.T) {
			err := json.Codec{}.Unmarshal([]byte(data), new(reading))
			if err == nil || !strings.HasPrefix(err.Error(), "json: ") || !strings.Contains(err.Error(), "reading") {
				t.Errorf("error = %v, want one of json that names the type", err)
			}
		})
	}
}

func Example() {
	data, err := json.Codec{}.Marshal(reading{Name: "noise", Value: 31.5})
	fmt.Println(string(data), err)
	var r reading
	err = json.Codec{}.Unmarshal(data, &r)
	fmt.Println(r.Value, err)
	// Output:
	// {"name":"noise","value":31.5} <nil>
	// 31.5 <nil>
}
