// Filter prints the names of the Y3 files whose message matches a predicate. It reads the encoded bytes, with names from a hint
// file:
//
//	go run ./examples/messages/filter examples/messages/noise.json 'event.noise.level > 1' examples/messages/*.y3
package main

import (
	"fmt"
	"log"
	"os"

	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/schema"
	"example.com/ferry/format/y3"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: filter HINTS PREDICATE [FILE]...")
	}
	matcher, err := compile(os.Args[1], os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range os.Args[3:] {
		message, err := os.ReadFile(name)
		if err != nil {
			log.Fatal(err)
		}
		if err := (y3.Format{}).Validate(message, format.Options{}); err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		matches, _, err := matcher.Match(message)
		if err != nil {
			log.Fatalf("%s: %v", name, err)
		}
		if matches {
			fmt.Println(name)
		}
	}
}

// compile returns a matcher for the predicate, with each name of the hint file replaced by its Y3 key.
func compile(hints, predicate string) (*format.Matcher, error) {
	text, err := os.ReadFile(hints)
	if err != nil {
		return nil, err
	}
	m, err := schema.Parse(text)
	if err != nil {
		return nil, err
	}
	named, err := field.ParsePredicate(predicate)
	if err != nil {
		return nil, err
	}
	numbered, err := m.Predicate(named, schema.Hex)
	if err != nil {
		return nil, err
	}
	return format.NewMatcher(y3.Format{}, numbered), nil
}
