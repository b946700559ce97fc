package field_test

import (
	"fmt"

	"example.com/ferry/field"
)

func ExampleParse() {
	p, err := field.Parse(`readings.0.tags.unit\.name`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range p.Steps() {
		fmt.Println(step.Name)
	}
	// Output:
	// readings
	// 0
	// tags
	// unit.name
}

func ExampleParsePredicate() {
	p, err := field.ParsePredicate(`deviceName=="pump-1" && (readings.0.value>30)`)
	fmt.Println(p, err)
	_, err = field.ParsePredicate(`deviceName = "pump-1"`)
	fmt.Println(err)
	// Output:
	// deviceName == "pump-1" && readings.0.value > 30 <nil>
	// field: predicate has "= \"pump-1\"" at offset 11, where a comparison (==, !=, <, <=, >, >=) is expected
}

func ExampleNewSet() {
	s, err := field.NewSet(field.MustParse("deviceName"), field.MustParse("readings.0.value"))
	fmt.Println(s.Len(), s.Paths()[1], err)
	// Output: 2 readings.0.value <nil>
}
